export {
  createVideoActivities,
  type DownloadOptions,
  type DownloadPace,
  type VideoActivities,
  type VideoActivityDeps,
} from '../activities';
export {
  type EncryptedDataConverterOptions,
  encryptedDataConverter,
} from './client/encrypted-data-converter';
export { FORGOTTEN_PARTS, type ForgottenPart, type KeptPart } from './client/forget-files';
export type { ForgetOptions, ForgottenJob } from './client/forget-job';
export { ForgetRefused, ForgetStopped } from './client/forget-refused';
export type { ListOptions } from './client/list-jobs';
export { type JobOverview, OVERVIEW_STATES, type OverviewState } from './client/overview';
export type { RetriedJob, RetryOptions } from './client/retry-job';
export { RetryRefused } from './client/retry-plan';
export { TemporalUnreachable } from './client/temporal-unreachable';
export type { ItemOptions, VideoBatch } from './client/video-batch';
export {
  createVideoClient,
  type StartOptions,
  type VideoClient,
  type VideoClientOptions,
} from './client/video-client';
export type { VideoJob } from './client/video-job';
export type { FollowOptions } from './client/workflow-handle';
export type { MonitorAddress } from './config/monitor-config';
export { ConfigError, type Environment } from './config/service-config';
export * from './contract';
export {
  type AnswerTimeouts,
  createVideoService,
  type FoundService,
  type NamedService,
  type NamedServices,
  RateLimiter,
  type RateLimiterOptions,
  RateLimiters,
  type SentRequest,
  type ServiceAnswer,
  ServiceDirectory,
  type ServiceDirectoryOptions,
  type ServiceProfile,
  type ServiceTimeouts,
  type VideoService,
  type VideoServiceOptions,
  type WebhookOptions,
} from './service';
export {
  type ByteRange,
  createFileStorage,
  createS3Storage,
  type FileToPublish,
  type LinkValidity,
  type ListedFile,
  type S3Connection,
  type S3Credentials,
  type S3StorageOptions,
  StorageFault,
  type StorageFaultOptions,
  type VideoStorage,
} from './storage';
export { prometheusMetrics } from './worker/sdk-metrics';
export {
  createVideoWorker,
  type VideoWorker,
  type VideoWorkerOptions,
} from './worker/video-worker';
