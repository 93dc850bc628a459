export {
  type CancelVideoInput,
  type CheckVideoInput,
  createVideoActivities,
  type DownloadedVideo,
  type DownloadOptions,
  type DownloadPace,
  type DownloadVideoInput,
  type SubmittedTask,
  type SubmitVideoInput,
  type VideoActivities,
  type VideoActivityDeps,
} from '../activities';
export {
  createVideoClient,
  type StartOptions,
  type VideoClient,
  type VideoClientOptions,
} from './client';
export { ConfigError, type Environment } from './config';
export { TemporalUnreachable } from './connect';
export * from './contract';
export {
  type AnswerReading,
  type AnswerTimeouts,
  type CallOutcome,
  type CancelAnswer,
  createVideoService,
  type Entry,
  type OpenVideoOptions,
  RateGate,
  type RateGateOptions,
  type ResumePoint,
  type Said,
  type Secrets,
  type ServiceAnswer,
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
export type { VideoBatch } from './video-batch';
export type { VideoJob } from './video-job';
export {
  createVideoWorker,
  type VideoWorker,
  type VideoWorkerOptions,
  WORKER_ROLES,
  type WorkerRole,
} from './worker';
export type { FollowOptions } from './workflow-handle';
