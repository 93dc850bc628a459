export { type AiSdkServiceOptions, aiSdkService } from './ai-sdk-service';
export type { VideoSize } from './call-options';
export { type AiSdkPackageOptions, findAiSdkProblem, loadAiSdkService } from './load-ai-sdk-service';
export type { OperationStorage } from './operations';
export type {
  AiSdkCallOptions,
  AiSdkFetch,
  AiSdkFile,
  AiSdkModelSource,
  AiSdkProviderOptions,
  AiSdkVideoModel,
  JsonValue,
} from './video-model-types';
