import {
  type AiSdkCallOptions,
  type AiSdkServiceOptions,
  type AiSdkVideoModel,
  aiSdkService,
} from '../../src/ai-sdk';
import { type FaultFacts, type FaultKind, ServiceFault, type VideoService } from '../../src/service';

/** What a test's model does; it starts a task by default, which stays pending. */
export interface ModelParts {
  provider?: string;
  start?: (options: AiSdkCallOptions) => unknown;
  status?: (operation: unknown, signal?: AbortSignal) => unknown;
}

export function modelOf({ provider = 'test.video', start, status }: ModelParts): AiSdkVideoModel {
  return {
    specificationVersion: 'v4',
    provider,
    modelId: 'a/model',
    doStart: async (options) => (start ? start(options) : { operation: 'task-1', warnings: [] }),
    doStatus: async ({ operation, abortSignal }) =>
      status ? status(operation, abortSignal) : { status: 'pending' },
  };
}

const open: VideoService[] = [];

/** A service for a model without a server; closed after the test. */
export function serviceOf(parts: ModelParts, options?: AiSdkServiceOptions): VideoService {
  return keepOpen(aiSdkService(modelOf(parts), options));
}

export function keepOpen(service: VideoService): VideoService {
  open.push(service);
  return service;
}

export async function closeServices(): Promise<void> {
  await Promise.all(open.splice(0).map((service) => service.close()));
}

export const KEY = { idempotencyKey: 'key-of-the-job' };
export const FOX = { prompt: 'A red fox' };

/** The fault of a call that fails. */
export async function faultOf(call: Promise<unknown>): Promise<{ kind: FaultKind } & FaultFacts> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (!(outcome instanceof ServiceFault)) throw new Error(`expected a fault, got ${JSON.stringify(outcome)}`);
  return { kind: outcome.kind, ...outcome.facts };
}

/** The options that a model gets for a request. */
export async function askedFor(
  request: Parameters<VideoService['submit']>[0],
  { provider, ...options }: AiSdkServiceOptions & { provider?: string } = {},
): Promise<AiSdkCallOptions> {
  let asked: AiSdkCallOptions | undefined;
  const start = (given: AiSdkCallOptions) => {
    asked = given;
    return { operation: 'task-1' };
  };
  await serviceOf({ provider, start }, options).submit(request, KEY);
  if (asked === undefined) throw new Error('nothing was asked for');
  return asked;
}
