export { type AiSdkServiceOptions, aiSdkService } from './ai-sdk-service';
export type { ModelJobOptions } from './job-of-call';
export { type AiSdkPackageOptions, findAiSdkProblem, loadAiSdkService } from './load-ai-sdk-service';
export { type JobVideoModel, type VideoModelOptions, videoModel } from './video-model';
