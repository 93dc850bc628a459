/**
 * What is used of the AI SDK's types, so that the package itself is needed by nobody. A `VideoModelV4` and a `VideoModelV3` of
 * `@ai-sdk/provider` are assignable to `AiSdkVideoModel`; what they return is parsed, because it is the code of others.
 */

/** A value that JSON can have. */
export type JsonValue =
  | null
  | string
  | number
  | boolean
  | JsonValue[]
  | { [name: string]: JsonValue | undefined };

/** Options for one provider or several, by the name under which each looks for its own. */
export type AiSdkProviderOptions = Record<string, Record<string, JsonValue | undefined>>;

/** An image for a model: a link, or its bytes. */
export type AiSdkFile =
  | { type: 'url'; url: string }
  | { type: 'file'; mediaType: string; data: string | Uint8Array };

/** What a model is asked for, by a job of ours or by `experimental_generateVideo` and `experimental_startVideo`. */
export interface AiSdkCallOptions {
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

/** A video model of the AI SDK, such as `fal.video('luma-dream-machine')`. */
export interface AiSdkVideoModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  /** Starts a generation: one request to the service. */
  doStart?(options: AiSdkCallOptions): PromiseLike<unknown>;
  /** Asks once how the generation is. */
  doStatus?(options: {
    operation: JsonValue;
    abortSignal?: AbortSignal;
    headers?: Record<string, string | undefined>;
  }): PromiseLike<unknown>;
}

/** The `fetch` that a provider takes as its option. */
export type AiSdkFetch = typeof globalThis.fetch;

/**
 * Makes a model whose provider sends everything through the given `fetch`. Called for every call of the service, so that a
 * rotated key is used at once.
 */
export type AiSdkModelSource = (options: {
  fetch: AiSdkFetch;
  /** Names a key that is in no header of a request, so that no message repeats it. */
  hide: (key: string) => void;
}) => AiSdkVideoModel | PromiseLike<AiSdkVideoModel>;

/** What a model could not do as it was asked, or what is to be known about a video. */
export type ModelWarning =
  | { type: 'unsupported'; feature: string; details?: string }
  | { type: 'other'; message: string };
