export type { ChaosOptions } from './chaos';
export type { Dialect, DialectRoute, Reply, TaskFacts } from './dialect';
export { type Emulator, startEmulator } from './emulator';
export type { EmulatorOptions, RecordedCall } from './emulator-options';
export type { EmulatedCall, FaultName, Faults } from './faults';
export type { EmulatedTask, TaskFailure } from './task-store';
export {
  createVideoTestEnvironment,
  type VideoTestEnvironment,
  type VideoTestEnvironmentOptions,
} from './test-environment';
