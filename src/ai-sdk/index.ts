export type { VideoSize } from '../client/video-size';
export { type AiSdkServiceOptions, aiSdkService } from './ai-sdk-service';
export type { Delivery } from './deliver-video';
export { type AiSdkPackageOptions, findAiSdkProblem, loadAiSdkService } from './load-ai-sdk-service';
export type { ModelJobOptions } from './model-options';
export type { OperationStorage } from './operations';
export { type JobVideoModel, type VideoModelOptions, videoModel } from './video-model';
export type {
  AiSdkCallOptions,
  AiSdkFetch,
  AiSdkFile,
  AiSdkModelSource,
  AiSdkProviderOptions,
  AiSdkVideoModel,
  JsonValue,
} from './video-model-types';
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
