export {
  createVideoActivities,
  type DownloadedVideo,
  type DownloadOptions,
  type VideoActivities,
  type VideoActivityDeps,
} from '../activities';
export {
  createVideoClient,
  type StartOptions,
  type VideoClient,
  type VideoClientOptions,
} from './client';
export { ConfigError } from './config';
export { TemporalUnreachable } from './connect';
export * from './contract';
export {
  createVideoService,
  RateGate,
  type ServiceProfile,
  type VideoService,
  type VideoServiceOptions,
} from './service';
export {
  createFileStorage,
  createS3Storage,
  type IncomingVideo,
  type ReceiveOptions,
  StorageFault,
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
