export type { Delivery } from './deliver-video';
export type { ModelJobOptions } from './model-options';
export { type JobVideoModel, type VideoModelOptions, videoModel } from './video-model';
export type {
  JsonObject,
  JsonValue,
  ModelCall,
  ModelFile,
  ModelMetadata,
  ModelResponse,
  ModelResult,
  ModelVideo,
  ModelWarning,
  OperationStatus,
  StartedOperation,
} from './video-model-v4';
