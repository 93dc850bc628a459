import type { AiSdkFile, JsonValue } from './video-model-types';

// What a VideoModelV4 of the AI SDK is asked for and answers with, as far as `videoModel` has it. Written out for the same
// reason as the types of models that are called.

/** What one call of `experimental_generateVideo` or `experimental_startVideo` asks a model for. */
export interface ModelCall {
  prompt: string | undefined;
  /** How many videos. */
  n: number;
  /** Such as `16:9`, or `adaptive`. */
  aspectRatio: string | undefined;
  /** Such as `1280x720`. */
  resolution: string | undefined;
  /** In seconds. */
  duration: number | undefined;
  fps: number | undefined;
  seed: number | undefined;
  image: AiSdkFile | undefined;
  frameImages: { image: AiSdkFile; frameType: string }[] | undefined;
  inputReferences: AiSdkFile[] | undefined;
  generateAudio: boolean | undefined;
  /** By the name of a provider; ours is `videogen`. */
  providerOptions: Record<string, object | undefined>;
  abortSignal?: AbortSignal | undefined;
  headers?: Record<string, string | undefined> | undefined;
}

/** What a model could not do as it was asked, or what is to be known about a video. */
export type ModelWarning =
  | { type: 'unsupported' | 'compatibility'; feature: string; details?: string }
  | { type: 'other'; message: string };

/** A video as a model hands it over. */
export type ModelVideo =
  | { type: 'binary'; data: Uint8Array; mediaType: string }
  | { type: 'url'; url: string; mediaType: string }
  | { type: 'uploaded'; mediaType: string };

/** When a model answered. */
export interface ModelResponse {
  timestamp: Date;
  modelId: string;
  headers: undefined;
}

/** Facts about the jobs of a call, under the name of the provider. */
export type ModelMetadata = { videogen: { [name: string]: JsonValue | undefined } };

/** The videos of a call. */
export interface ModelResult {
  videos: ModelVideo[];
  warnings: ModelWarning[];
  providerMetadata: ModelMetadata;
  response: ModelResponse;
}

/** A call that has become a job, or several. */
export interface StartedOperation {
  /** The workflow id, or a list of them for several videos. */
  operation: string | string[];
  warnings: ModelWarning[];
  providerMetadata: ModelMetadata;
  response: ModelResponse;
}

/** Where the jobs of an operation are. */
export type OperationStatus =
  | {
      status: 'pending';
      warnings: ModelWarning[];
      providerMetadata: ModelMetadata;
      response: ModelResponse;
    }
  | ({ status: 'completed' } & ModelResult)
  | { status: 'error'; error: string; providerMetadata: ModelMetadata; response: ModelResponse };
