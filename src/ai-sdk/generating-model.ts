import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceFault } from '../service/service-fault';
import { optionsKeyOf, withOptions } from './call-options';
import type { ModelCall } from './model-call';
import { type CallFacts, submitFault } from './read-call';
import type { GenerateStart } from './request-guards';
import type { AiSdkCallOptions, AiSdkVideoModel, JsonValue } from './video-model-types';

/** A model that only generates has this long to say that it does not like the answer to its POST. */
const REJECT_WITHIN_MS = 5_000;

/** Models that only generate wait between their polls. There is one poll a call, so nothing is waited for. */
const NO_WAIT = { pollIntervalMs: 1, pollTimeoutMs: 600_000 };

interface GenerateCall {
  call: ModelCall;
  generate: GenerateStart;
  facts: () => CallFacts;
  limitMs: number;
}

/** The first POST of `doGenerate` is the start, and its answer the operation. */
export async function startGenerating(
  model: AiSdkVideoModel,
  callOptions: AiSdkCallOptions,
  { call, generate, facts, limitMs }: GenerateCall,
): Promise<JsonValue> {
  const ended = await call
    .run(limitMs, undefined, (abortSignal) =>
      Promise.race([
        generateOf(model)({ ...withoutWaits(callOptions, model), abortSignal }),
        call.answered.then(() => sleep(REJECT_WITHIN_MS, undefined, { ref: false })),
      ]),
    )
    .then(
      () => ({ isTask: true, error: undefined }),
      (error: unknown) => ({ isTask: generate.hasStopped, error }),
    );
  const post = call.own.find(({ method }) => method !== 'GET');
  const isGood = post?.status !== undefined && post.status >= 200 && post.status <= 299;
  if (!ended.isTask || !isGood)
    throw submitFault(ended.error ?? new Error('the model sent no request'), facts());
  const operation = readJson(post.body);
  if (operation === undefined) {
    throw new ServiceFault('unreadable', {
      status: post.status,
      message:
        'the answer to the request of the model is no JSON object, so its task cannot be asked for later',
    });
  }
  return operation;
}

/** Runs `doGenerate` again for a poll: what it would post is answered from the record. */
export function pollGenerating(model: AiSdkVideoModel, abortSignal: AbortSignal): PromiseLike<unknown> {
  return generateOf(model)({ ...withoutWaits(NO_REQUEST, model), abortSignal });
}

function generateOf(model: AiSdkVideoModel) {
  const { doGenerate } = model;
  if (doGenerate === undefined) throw new TypeError('the model has no doGenerate');
  return (options: AiSdkCallOptions) => doGenerate.call(model, options);
}

function withoutWaits(options: AiSdkCallOptions, { provider }: AiSdkVideoModel): AiSdkCallOptions {
  return {
    ...options,
    providerOptions: withOptions(options.providerOptions, optionsKeyOf(provider), NO_WAIT),
  };
}

/** A poll has no request: what the model would send is answered from the record. */
const NO_REQUEST: AiSdkCallOptions = {
  prompt: 'poll',
  n: 1,
  aspectRatio: undefined,
  resolution: undefined,
  duration: undefined,
  fps: undefined,
  seed: undefined,
  image: undefined,
  frameImages: undefined,
  inputReferences: undefined,
  generateAudio: undefined,
  providerOptions: {},
};

function readJson(text: string | undefined): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
