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

class EmulatorModel {
  readonly specificationVersion = 'v4';
  readonly provider = 'emulator.video';
  readonly modelId = 'landscape';

  constructor(protected readonly config: EmulatorModelOptions) {}

  protected async submit({ prompt, headers, abortSignal }: AiSdkCallOptions): Promise<string> {
    const { baseUrl, fetch } = this.config;
    const { task_id: taskId } = await callApi(`${baseUrl}/v1/videos/text-to-video`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/json', ...definedOf(headers) },
      body: JSON.stringify({ prompt }),
      signal: abortSignal,
      fetch,
    });
    if (typeof taskId !== 'string') throw sdkError('No task id in response');
    return taskId;
  }

  protected async status(taskId: string, signal?: AbortSignal) {
    const { baseUrl, fetch } = this.config;
    const task = await callApi(`${baseUrl}/v1/videos/${taskId}`, { headers: this.headers, signal, fetch });
    if (typeof task.status !== 'string') throw new ApiCallError('Invalid JSON response', { statusCode: 200 });
    return { status: task.status, url: Reflect.get(Object(task.content), 'video_url') ?? task.video_url };
  }

  private get headers() {
    return { authorization: `Bearer ${this.config.apiKey}` };
  }
}

function definedOf(headers: AiSdkCallOptions['headers'] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

const RESPONSE = { timestamp: new Date(0), modelId: 'landscape', headers: undefined };

/** A model with a start and a status. */
class StartingModel extends EmulatorModel implements AiSdkVideoModel {
  async doStart(options: AiSdkCallOptions) {
    return { operation: await this.submit(options), warnings: [], response: RESPONSE };
  }

  async doStatus({ operation, abortSignal }: { operation: unknown; abortSignal?: AbortSignal }) {
    const { status, url } = await this.status(String(operation), abortSignal);
    if (status !== 'succeeded') return { status: 'pending', response: RESPONSE };
    const videos = [{ type: 'url', url, mediaType: 'video/mp4' }];
    return { status: 'completed', videos, warnings: [], response: RESPONSE };
  }
}

export function emulatorService(
  config: Omit<EmulatorModelOptions, 'fetch'>,
  options: AiSdkServiceOptions = {},
): OpenedVideoService {
  return aiSdkService(({ fetch }) => new StartingModel({ ...config, fetch }), {
    downloadAllow: ['127.0.0.1'],
    ...options,
  });
}
