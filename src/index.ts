export {
  type CancelVideoInput,
  createVideoActivities,
  type DownloadedVideo,
  type DownloadOptions,
  type DownloadPace,
  type DownloadVideoInput,
  type PollVideoInput,
  type SubmittedTask,
  type SubmitVideoInput,
  type VideoActivities,
  type VideoActivityDeps,
} from '../activities';
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
export { ConfigError, type Environment } from './config/service-config';
export * from './contract';
export {
  type AnswerReading,
  type AnswerTimeouts,
  type CallOutcome,
  type CancelAnswer,
  createVideoService,
  type OpenVideoOptions,
  type Permit,
  RateLimiter,
  type RateLimiterOptions,
  type ResumePoint,
  type Secrets,
  type ServiceAnswer,
  type ServiceMessage,
  type ServiceProfile,
  type ServiceTimeouts,
  type TaskReading,
  type VideoBody,
  type VideoService,
  type VideoServiceOptions,
  type VideoState,
} from './service';
export {
  createFileStorage,
  createS3Storage,
  type IncomingVideo,
  type ReceiveOptions,
  type S3Connection,
  type S3Credentials,
  type S3StorageOptions,
  StorageFault,
  type StorageFaultOptions,
  type VideoStorage,
  type WholeVideo,
} from './storage';
export {
  createVideoWorker,
  type VideoWorker,
  type VideoWorkerOptions,
  WORKER_ROLES,
  type WorkerRole,
} from './worker/video-worker';
