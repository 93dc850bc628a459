import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import type { AiSdkCallOptions, AiSdkFetch, AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import type { OpenedVideoService } from '../../src/service';

/** The emulator's service as a model of the AI SDK, which treats answers and errors as the SDK's own helpers do. */
export interface EmulatorModelOptions {
  baseUrl: string;
  apiKey: string;
  fetch?: AiSdkFetch;
}

/** As `APICallError` of `@ai-sdk/provider`: recognized by its marks. */
export class ApiCallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
  readonly responseBody?: string;
  readonly url?: string;
  readonly requestBodyValues?: unknown;

  constructor(message: string, facts: Partial<ApiCallError> = {}) {
    super(message, { cause: facts.cause });
    Object.assign(this, facts, markOf('AI_APICallError'));
  }
}

/** As `AISDKError`. */
export const sdkError = (message: string, name = 'AI_Error') =>
  Object.assign(new Error(message), markOf(name), { name });

const markOf = (name: string) => ({
  [Symbol.for('vercel.ai.error')]: true,
  [Symbol.for(`vercel.ai.error.${name}`)]: true,
});

/** As `postJsonToApi` and `getFromApi` of `@ai-sdk/provider-utils`. */
export async function callApi(
  url: string,
  { fetch = globalThis.fetch, ...init }: RequestInit & { fetch?: AiSdkFetch },
): Promise<Record<string, unknown>> {
  const requestBodyValues = init.body === undefined ? {} : JSON.parse(String(init.body));
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    const { name, message, cause }: Error = Object(error);
    if (name !== 'TypeError' || message !== 'fetch failed') throw error;
    const { message: why }: Error = Object(cause);
    throw new ApiCallError(`Cannot connect to API: ${why}`, { cause, url, requestBodyValues });
  }
  const facts = {
    url,
    requestBodyValues,
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
  };
  let responseBody: string;
  try {
    responseBody = await response.text();
  } catch (cause) {
    throw new ApiCallError('Failed to process successful response', { ...facts, cause });
  }
  if (!response.ok) throw new ApiCallError(response.statusText, { ...facts, responseBody });
  try {
    return JSON.parse(responseBody);
  } catch (cause) {
    throw new ApiCallError('Invalid JSON response', { ...facts, responseBody, cause });
  }
}

const RESPONSE = { timestamp: new Date(0), modelId: 'landscape', headers: undefined };

class EmulatorModel implements AiSdkVideoModel {
  readonly specificationVersion = 'v4';
  readonly provider = 'emulator.video';
  readonly modelId = 'landscape';

  constructor(private readonly config: EmulatorModelOptions) {}

  async doStart({ prompt, headers = {}, abortSignal }: AiSdkCallOptions) {
    const { baseUrl, fetch } = this.config;
    const given = Object.entries(headers).filter(
      (header): header is [string, string] => header[1] !== undefined,
    );
    const { task_id: operation } = await callApi(`${baseUrl}/v1/videos/text-to-video`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/json', ...Object.fromEntries(given) },
      body: JSON.stringify({ prompt }),
      signal: abortSignal,
      fetch,
    });
    if (typeof operation !== 'string') throw sdkError('No task id in response');
    return { operation, warnings: [], response: RESPONSE };
  }

  async doStatus({ operation, abortSignal: signal }: { operation: unknown; abortSignal?: AbortSignal }) {
    const { baseUrl, fetch } = this.config;
    const { status } = await callApi(`${baseUrl}/v1/videos/${operation}`, {
      headers: this.headers,
      signal,
      fetch,
    });
    if (typeof status !== 'string') throw new ApiCallError('Invalid JSON response', { statusCode: 200 });
    return { status: 'pending', response: RESPONSE };
  }

  private get headers() {
    return { authorization: `Bearer ${this.config.apiKey}` };
  }
}

export function emulatorService(
  config: Omit<EmulatorModelOptions, 'fetch'>,
  options: AiSdkServiceOptions = {},
): OpenedVideoService {
  return aiSdkService(({ fetch }) => new EmulatorModel({ ...config, fetch }), options);
}
