export { type Emulator, startEmulator } from './emulator';
export type { EmulatorOptions, RecordedCall } from './emulator-options';
export type { Faults } from './faults';
export {
  createVideoTestEnvironment,
  type VideoTestEnvironment,
  type VideoTestEnvironmentOptions,
} from './test-environment';
