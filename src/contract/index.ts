export {
  type BatchInput,
  type BatchOptions,
  type BatchProgress,
  type BatchResult,
  doneBefore,
  type EarlierBatch,
  type FailedItem,
  type ItemProgress,
  type ItemResult,
  itemName,
  ON_FAILURE,
  type OnFailure,
  type OpenedBatch,
  parseResults,
  resultsKey,
  type StoredFile,
} from './batch';
export { type ParsedBatchInput, parseBatchInput } from './batch-input';
export type { Cap, CapLimit, CapScope, Caps, CapUnit, Taken } from './caps';
export { cleanText, inShell, printable, printableJson, shown } from './clean-text';
export { type DurationText, describeDuration, durationMs } from './duration';
export {
  type Call,
  FAILURES,
  type FailureRow,
  type FailureType,
  isFailureType,
  type Retry,
} from './failure-table';
export { type ChildNews, childName, type FallbackInput, type VideoInput } from './fallback';
export {
  type DownloadProgress,
  JOB_PHASES,
  type JobInput,
  type JobOptions,
  type JobPhase,
  type JobProgress,
  type JobResult,
  type StoredVideo,
  TASK_STATES,
  type TaskState,
  type TaskStatus,
} from './job';
export type { BatchCost, JobCost } from './job-cost';
export type { JobIdentity } from './job-identity';
export { type ParsedJobInput, parseJobInput } from './job-input';
export type { KnownService, KnownServices } from './known-services';
export type { LedgerCount, LedgerReport } from './ledger';
export {
  adoptCommand,
  DecisionRefused,
  decisionCommands,
  LOST_SUBMIT_POLICIES,
  type LostSubmitPolicy,
  type SubmitDecision,
} from './lost-submit';
export type { Money, MoneySum } from './money';
export * from './names';
export { type JobOverview, OVERVIEW_STATES, type OverviewState } from './overview';
export { CONTENT_STAGES, type ContentStage, type RefusedContent } from './refused-content';
export {
  ASPECT_RATIOS,
  MAX_DURATION_SECONDS,
  type ParsedRequest,
  parseRequest,
  RESOLUTIONS,
  requestSchema,
  type VideoRequest,
} from './request';
export { type LineProblem, type ParsedRequests, parseRequestLines } from './request-lines';
export { SEARCH_ATTRIBUTES } from './search-attributes';
export type { ServiceAttempt } from './service-attempts';
export { describeDownload, describeVideo } from './summaries';
export {
  CONTAINER_NAMES,
  type Container,
  describeMismatches,
  type ExpectedVideo,
  type VideoFacts,
} from './video-facts';
export {
  describeFailure,
  type FailureDetails,
  isVideoFailure,
  readFailure,
  VideoFailure,
} from './video-failure';
export { WEBHOOK_EVENTS, type WebhookDelivery, type WebhookEvent, type WebhookPayload } from './webhook';
