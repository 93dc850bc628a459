export {
  type BatchInput,
  type BatchOptions,
  type BatchProgress,
  type BatchResult,
  type FailedItem,
  type ItemProgress,
  type ItemResult,
  itemName,
  ON_FAILURE,
  type OnFailure,
  parseResults,
  resultsKey,
  type StoredFile,
} from './batch';
export { parseBatchInput } from './batch-input';
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
export type {
  DownloadProgress,
  JobInput,
  JobOptions,
  JobPhase,
  JobProgress,
  JobResult,
  Look,
  StoredVideo,
} from './job';
export { parseJobInput } from './job-input';
export { LOST_SUBMIT_POLICIES, type LostSubmitPolicy, type SubmitDecision } from './lost-submit';
export * from './names';
export {
  ASPECT_RATIOS,
  MAX_DURATION_SECONDS,
  parseRequest,
  RESOLUTIONS,
  requestSchema,
  type VideoRequest,
} from './request';
export { parseRequestLines } from './request-lines';
export { describeDownload, describeVideo } from './summaries';
export { TASK_STATES, type TaskState } from './task-state';
export { describeMismatches, type VideoFacts } from './video-facts';
export { waysOut } from './ways-out';
