/** What runs jobs: the worker, the plugin for a worker of your own, and what both are made of. */
export { createVideoActivities, type VideoActivities, type VideoActivityDeps } from '../../activities';
export type { Caps } from '../contract/caps';
export {
  createVideoService,
  type NamedServices,
  RateLimiters,
  ServiceFault,
  type ServiceProfile,
  type VideoService,
  type VideoServiceOptions,
} from '../service';
export {
  createFileStorage,
  createS3Storage,
  type S3StorageOptions,
  StorageFault,
  type VideoStorage,
} from '../storage';
export type { VideoNexusOptions } from './nexus-handler';
export { createVideoNexusHandler, VideoPlugin, type VideoPluginOptions } from './video-plugin';
export {
  createVideoWorker,
  type VideoWorker,
  type VideoWorkerOptions,
} from './video-worker';
export { prometheusMetrics } from './worker-monitor';
