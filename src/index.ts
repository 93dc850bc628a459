/** What starts jobs, follows them and reads their results. Programs with a worker import `temporal-videogen/worker` too. */
export { encryptedDataConverter } from './client/connect';
export type { JobOverview } from './client/overview';
export { ForgetRefused, RetryRefused, TemporalUnreachable } from './client/refusals';
export {
  createVideoClient,
  type VideoClient,
  type VideoClientOptions,
} from './client/video-client';
export type { VideoBatch, VideoJob } from './client/video-job';
export { ConfigError, type Environment } from './config/service-config';
export {
  type BatchInput,
  type BatchProgress,
  type BatchResult,
  type ItemResult,
  parseResults,
} from './contract/batch';
export type { JobInput, JobProgress, JobResult, StoredVideo, VideoInput } from './contract/job';
export { DecisionRefused, type SubmitDecision } from './contract/lost-submit';
export type { VideoRequest } from './contract/request';
export type { WebhookPayload } from './contract/webhook';
export { verifyWebhook, WebhookRefused } from './service/webhook-signature';
