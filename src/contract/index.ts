export { cleanText } from './clean-text';
export { DecisionRefused } from './decision-refused';
export { type DurationText, describeDuration, durationMs } from './duration';
export {
  type Call,
  FAILURES,
  type FailureRow,
  type FailureType,
  isFailureType,
  type Retry,
} from './failure-table';
export { describeFailure, type FailureDetails, isVideoFailure, readFailure, VideoFailure } from './failures';
export {
  type DownloadProgress,
  type JobInput,
  type JobOptions,
  type JobPhase,
  type JobProgress,
  type JobResult,
  LOST_SUBMIT_POLICIES,
  type Look,
  type LostSubmitPolicy,
  type StoredVideo,
  type SubmitDecision,
} from './job';
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
export { describeDownload, describeVideo } from './summaries';
export { TASK_STATES, type TaskState } from './task-state';
export { describeMismatches, type VideoFacts } from './video-facts';
export { waysOut } from './ways-out';
