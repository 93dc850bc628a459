/**
 * The part of the AI SDK's video model, version 4, that `videoModel` uses. Written out, so that programs without the AI SDK
 * need none of its packages.
 */

/** A value of JSON. */
export type JsonValue = null | string | number | boolean | JsonValue[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [name: string]: JsonValue | undefined };

/** An image that a call begins with, as bytes, as base64 text or as a URL. */
export type ModelFile =
  | { type: 'file'; mediaType: string; data: string | Uint8Array }
  | { type: 'url'; url: string };

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
  image: ModelFile | undefined;
  frameImages: { image: ModelFile; frameType: string }[] | undefined;
  inputReferences: ModelFile[] | undefined;
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
export type ModelMetadata = { videogen: JsonObject };

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
