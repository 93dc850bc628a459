export type { Delivery } from './deliver-video';
export type { ModelJobOptions } from './model-options';
export { type JobVideoModel, type VideoModelOptions, videoModel } from './video-model';
export type { AiSdkFile, JsonValue } from './video-model-types';
export type {
  ModelCall,
  ModelMetadata,
  ModelResponse,
  ModelResult,
  ModelVideo,
  ModelWarning,
  OperationStatus,
  StartedOperation,
} from './video-model-v4';
