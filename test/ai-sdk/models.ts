import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import type { AiSdkCallOptions, AiSdkFetch, AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import { type FaultFacts, type FaultKind, type OpenedVideoService, ServiceFault } from '../../src/service';
import { callApi } from '../activities/emulator-model';
import { type RawRequest, type RawServer, replyJson, startRawServer } from '../service/raw-server';

/** What a model sends its requests with, and a POST with its key. */
export interface Sending {
  fetch: AiSdkFetch;
  post(path?: string): Promise<Record<string, unknown>>;
}

/** What a test's model does; by default it posts and gets the task `task-1`, which stays pending. */
export interface ModelParts {
  provider?: string;
  start?: (options: AiSdkCallOptions, sending: Sending) => unknown;
  /** Called after a GET. */
  status?: (operation: unknown, signal?: AbortSignal) => unknown;
}

export const SECRET = 'sk-live-0123456789abcdef';
export const KEY = { idempotencyKey: 'key-of-the-job' };
export const FOX = { prompt: 'A red fox' };

const open: OpenedVideoService[] = [];
let server: RawServer;
let answer: (request: RawRequest) => void;

/** A server for the models of a test file. It answers `{}` unless a test says otherwise. */
export function useModelServer(): void {
  beforeAll(async () => {
    server = await startRawServer((request) => answer(request));
  });
  beforeEach(() => {
    server.requests.length = 0;
    answerWith((request) => replyJson(request, {}));
  });
  afterEach(() => Promise.all(open.splice(0).map((service) => service.close())));
  afterAll(() => server.close());
}

export function answerWith(given: (request: RawRequest) => void): void {
  answer = given;
}

export const modelServer = (): RawServer => server;

export function modelOf(
  { provider = 'test.video', start, status }: ModelParts,
  fetch: AiSdkFetch,
): AiSdkVideoModel {
  const headers = { authorization: `Key ${SECRET}`, 'content-type': 'application/json' };
  const post = (path = '/generate') =>
    callApi(server.url + path, { method: 'POST', headers, body: '{"prompt":"A red fox"}', fetch });
  const model = {
    specificationVersion: 'v4',
    provider,
    modelId: 'a/model',
    config: { fetch, baseURL: server.url },
    doStart: async (options: AiSdkCallOptions) =>
      start ? start(options, { fetch, post }) : post().then(() => ({ operation: 'task-1', warnings: [] })),
    doStatus: async ({ operation, abortSignal }: { operation: unknown; abortSignal?: AbortSignal }) => {
      const failed = await callApi(`${server.url}/tasks/1`, { headers, signal: abortSignal, fetch }).then(
        () => undefined,
        (error: Error) => error,
      );
      if (status) return status(operation, abortSignal);
      if (failed) throw failed;
      return { status: 'pending' };
    },
  };
  return model;
}

/** A service for a model at the server; closed after the test. */
export function serviceOf(parts: ModelParts, options?: AiSdkServiceOptions): OpenedVideoService {
  return keepOpen(aiSdkService(({ fetch }) => modelOf(parts, fetch), options));
}

export function keepOpen(service: OpenedVideoService): OpenedVideoService {
  open.push(service);
  return service;
}

export const throwing = (error: unknown) => () => {
  throw error;
};

/** The fault of a call that fails, without its advice. */
export async function faultOf(call: Promise<unknown>): Promise<{ kind: FaultKind } & FaultFacts> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (!(outcome instanceof ServiceFault)) throw new Error(`expected a fault, got ${JSON.stringify(outcome)}`);
  const { advice: _, ...facts } = outcome.facts;
  return { kind: outcome.kind, ...facts };
}

/** The options that a model gets for a request. */
export async function askedFor(
  request: Parameters<OpenedVideoService['start']>[0],
  { provider, ...options }: AiSdkServiceOptions & { provider?: string } = {},
): Promise<AiSdkCallOptions> {
  let asked: AiSdkCallOptions | undefined;
  const start = (given: AiSdkCallOptions) => {
    asked = given;
    return { operation: 'task-1' };
  };
  await serviceOf({ provider, start }, options).start(request, KEY);
  if (asked === undefined) throw new Error('nothing was asked for');
  return asked;
}
