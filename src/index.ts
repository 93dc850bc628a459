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
export type { ForgetOptions, ForgottenJob } from './client/forget-job';
export { ForgetRefused } from './client/forget-refused';
export type { ListOptions } from './client/list-jobs';
export type { RetriedJob, RetryOptions } from './client/retry-job';
export { RetryRefused } from './client/retry-plan';
export { TemporalUnreachable } from './client/temporal-unreachable';
export type { VideoBatch } from './client/video-batch';
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
export * from './contract/public';
export { FORGOTTEN_PARTS, ForgetStopped, type ForgottenPart, type KeptPart } from './retention';
export {
  type AnswerTimeouts,
  createVideoService,
  type FoundService,
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
  type ServiceWithKeys,
  type VideoService,
  type VideoServiceOptions,
  type WebhookOptions,
} from './service';
export {
  type ByteRange,
  createFileStorage,
  createS3Storage,
  type IncomingVideo,
  type LinkValidity,
  type ListedFile,
  type PublishedVideo,
  type ReceiveOptions,
  type S3Connection,
  type S3Credentials,
  type S3StorageOptions,
  StorageFault,
  type StorageFaultOptions,
  type VideoStorage,
  type WholeVideo,
} from './storage';
export { createTraceInterceptor } from './tracing/trace-interceptor';
export { prometheusMetrics } from './worker/sdk-metrics';
export {
  createVideoWorker,
  type VideoWorker,
  type VideoWorkerOptions,
  WORKER_ROLES,
  type WorkerRole,
} from './worker/video-worker';
