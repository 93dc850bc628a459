export { type AiSdkServiceOptions, aiSdkService } from './ai-sdk-service';
export type { Delivery } from './deliver-video';
export { type AiSdkPackageOptions, findAiSdkProblem, loadAiSdkService } from './load-ai-sdk-service';
export type { ModelJobOptions } from './prepare-call';
export { type JobVideoModel, type VideoModelOptions, videoModel } from './video-model';
