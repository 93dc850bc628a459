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

/** What a model is asked for. */
export interface AiSdkCallOptions {
  prompt: string | undefined;
  n: number;
  aspectRatio: `${number}:${number}` | undefined;
  resolution: `${number}x${number}` | undefined;
  duration: number | undefined;
  fps: number | undefined;
  seed: number | undefined;
  image: AiSdkFile | undefined;
  frameImages: undefined;
  inputReferences: undefined;
  generateAudio: boolean | undefined;
  providerOptions: AiSdkProviderOptions;
  abortSignal?: AbortSignal;
  headers?: Record<string, string | undefined>;
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
  /** Starts a generation and polls until it has ended. */
  doGenerate?(options: AiSdkCallOptions): PromiseLike<unknown>;
}

/** The `fetch` that a provider takes as its option. */
export type AiSdkFetch = typeof globalThis.fetch;

/**
 * Makes a model whose provider sends everything through the given `fetch`. Called for every call of the service, so that a
 * rotated key is used at once.
 */
export type AiSdkModelSource = (options: {
  fetch: AiSdkFetch;
}) => AiSdkVideoModel | PromiseLike<AiSdkVideoModel>;
