export { CHAOS_FAULTS, type ChaosOptions } from './chaos';
export { checkName } from './check-arguments';
export { DIALECT_NAMES, type DialectName } from './dialects';
export { type Emulator, type EmulatorOptions, emulatedTimes, startEmulator } from './emulator';
export type {
  AnswerFault,
  EmulatedCall,
  FailedTask,
  Faults,
  FileFault,
  LateAnswer,
  LateReset,
  LostAnswer,
  Refusal,
  RefusedByPolicy,
  StatusFault,
} from './faults';
export { type FaultName, NAMED_FAULTS, namedFault } from './named-faults';
export type { OperationsOptions } from './operations';
export type { RecordedCall } from './receive';
export type { EmulatedTask, FetchedImage, TaskFailure } from './task-store';
export { noiseVideo } from './video/make-video';
