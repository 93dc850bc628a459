export { type Emulator, type EmulatorOptions, type RecordedCall, startEmulator } from './emulator';
export type {
  AnswerFault,
  EmulatedCall,
  FailedTask,
  Faults,
  FileFault,
  LateAnswer,
  LostAnswer,
  Refusal,
  StatusFault,
} from './faults';
export type { EmulatedTask } from './task-book';
