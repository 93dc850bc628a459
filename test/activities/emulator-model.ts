import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import type { AiSdkFetch, AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import type { OpenedVideoService } from '../../src/service';

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

/** The emulator's service as a model of the AI SDK, which treats answers and errors as the SDK's own helpers do. */
export function emulatorService(
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string },
  options: AiSdkServiceOptions = {},
): OpenedVideoService {
  const authorization = `Bearer ${apiKey}`;
  const response = { timestamp: new Date(0), modelId: 'landscape', headers: undefined };
  const modelWith = (fetch: AiSdkFetch): AiSdkVideoModel & { config: object } => ({
    // As the SDK's own models say where their service is.
    config: { baseUrl },
    specificationVersion: 'v4',
    provider: 'emulator.video',
    modelId: 'landscape',
    async doStart({ prompt, headers = {}, abortSignal: signal }) {
      const given = Object.entries(headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      );
      const { task_id: operation } = await callApi(`${baseUrl}/v1/videos/text-to-video`, {
        method: 'POST',
        headers: { ...Object.fromEntries(given), authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt }),
        signal,
        fetch,
      });
      if (typeof operation !== 'string') throw sdkError('No task id in response');
      return { operation, warnings: [], response };
    },
    // A service of a model without it is refused.
    doStatus: () => Promise.reject(sdkError('nothing polls it')),
  });
  return aiSdkService(({ fetch }) => modelWith(fetch), options);
}
