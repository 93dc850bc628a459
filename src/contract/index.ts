/** What other programs need to start, follow and read jobs: names, types, parsers and failures. */
export {
  type BatchInput,
  type BatchOptions,
  type BatchProgress,
  type BatchResult,
  type ItemProgress,
  type ItemResult,
  itemName,
  ON_FAILURE,
  type OnFailure,
  parseResults,
  resultsKey,
  type StoredFile,
} from './batch';
export type { Cap, Caps, Taken } from './caps';
export type { DurationText } from './duration';
export type { ServiceAttempt } from './failure-details';
export {
  CONTENT_STAGES,
  type ContentStage,
  type FailureDetails,
  type RefusedContent,
} from './failure-details';
export { FAILURES, type FailureRow, type FailureType, isFailureType } from './failure-table';
export type { FallbackInput, VideoInput } from './fallback';
export type { Container, VideoFacts } from './job';
export {
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
export { type ParsedBatchInput, type ParsedJobInput, parseBatchInput, parseJobInput } from './job-input';
export type { LedgerCount, LedgerReport } from './ledger';
export {
  DecisionRefused,
  LOST_SUBMIT_POLICIES,
  type LostSubmitPolicy,
  type SubmitDecision,
} from './lost-submit';
export type { Money, MoneySum } from './money';
export {
  BATCH_WORKFLOW_TYPE,
  COST_MEMO,
  childName,
  DECIDE_SUBMIT_UPDATE,
  DEFAULT_TASK_QUEUE,
  FALLBACK_WORKFLOW_TYPE,
  IDENTITY_MEMO,
  LEDGER_QUERY,
  ledgerIdOf,
  NEXUS_SERVICE,
  POLL_NOW_SIGNAL,
  PROGRESS_QUERY,
  SEARCH_ATTRIBUTES,
  SERVICE_MEMO,
  serviceQueueOf,
  submitQueueOf,
  TASK_ID_MEMO,
  WAIT_FOR_TASK_UPDATE,
  WEBHOOK_WORKFLOW_TYPE,
  WORKFLOW_TYPE,
} from './names';
export {
  ASPECT_RATIOS,
  type LineProblem,
  MAX_DURATION_SECONDS,
  type ParsedRequest,
  type ParsedRequests,
  parseRequest,
  parseRequestLines,
  RESOLUTIONS,
  type VideoRequest,
} from './request';
export type { KnownService, KnownServices } from './service-choice';
export { isVideoFailure, readFailure, VideoFailure } from './video-failure';
export { WEBHOOK_EVENTS, type WebhookDelivery, type WebhookEvent, type WebhookPayload } from './webhook';
