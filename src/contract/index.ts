export { type DurationText, describeDuration, durationMs } from './duration';
export {
  type Call,
  cleanText,
  describeFailure,
  FAILURES,
  type FailureDetails,
  type FailureRow,
  type FailureType,
  isFailureType,
  isVideoFailure,
  type Retry,
  readFailure,
  VideoFailure,
} from './failures';
export type { JobInput, JobOptions, JobPhase, JobProgress, JobResult, Look, StoredVideo } from './job';
export { parseJobInput } from './job-input';
export * from './names';
export {
  ASPECT_RATIOS,
  MAX_DURATION_SECONDS,
  parseRequest,
  RESOLUTIONS,
  requestSchema,
  type VideoRequest,
} from './request';
export { TASK_STATES, type TaskState } from './task-state';
