import type { FailureType } from '../contract/failure-table';
import { BY_KIND, failureOfStatus } from '../service/answer-table';
import { openVideo } from '../service/open-video';
import type { ServiceProfile } from '../service/profile';
import { readingRules } from '../service/reading-rules';
import { ServiceFault } from '../service/service-fault';
import { DEFAULT_TIMEOUTS, type OpenedVideoService, type ServiceTimeouts } from '../service/video-service';
import { callOptionsOf } from './call-options';
import { ModelCall } from './model-call';
import { KnownSecrets, ModelConnections } from './model-connections';
import {
  type CallFacts,
  failedPoll,
  operationOf,
  readingOf,
  readWarnings,
  submitFault,
  taskIdOf,
} from './read-call';
import type { AiSdkModelSource, AiSdkProviderOptions, AiSdkVideoModel } from './video-model-types';

/** Options of aiSdkService. */
export interface AiSdkServiceOptions {
  /**
   * What a profile says besides paths and headers: name, prices, polling, refusals, where charges are in answers, and
   * `requestFields`, whose values become options of the provider.
   */
  profile?: ServiceProfile;
  /** Options of the provider for every request, by the provider's name: `{ fal: { loop: true } }`. */
  providerOptions?: AiSdkProviderOptions;
  /** Hosts that videos may come from without TLS or at an address that is not public. */
  downloadAllow?: readonly string[];
  /** For a slower service. */
  timeouts?: Partial<ServiceTimeouts>;
  /**
   * The addresses of the service, such as `https://api.example.com`: its key goes nowhere else. Only for a model that does not
   * say it itself, as most do, or whose `fetch` leads it elsewhere.
   */
  origins?: readonly string[];
}

/**
 * A video service for a model of the AI SDK with `doStart` and `doStatus`: give a function that makes the model with the `fetch`
 * that it gets. Through that `fetch` it is known what was sent, and keys are found and hidden.
 *
 * @example
 * ```ts
 * const service = aiSdkService(({ fetch }) => createFal({ apiKey: readKey(), fetch }).video('luma-dream-machine'));
 * const activities = createVideoActivities({ service, storage: createFileStorage('./videos') });
 * ```
 */
export function aiSdkService(
  source: AiSdkModelSource,
  options: AiSdkServiceOptions = {},
): OpenedVideoService {
  if (typeof source !== 'function') {
    throw new TypeError(
      'aiSdkService: give a function that makes the model with the given fetch: aiSdkService(({ fetch }) => createFal({ fetch }).video(…)).',
    );
  }
  const { profile = {}, providerOptions = {} } = options;
  const { requestFields = [], idempotencyHeader = 'Idempotency-Key' } = profile;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const rules = readingRules(profile);
  const secrets = new KnownSecrets();
  const connections = new ModelConnections(secrets, timeouts, options);
  const calling = { connections, timeouts, secrets };

  const modelOf = async ({ fetch }: ModelCall): Promise<StartingModel> => {
    const model = await source({ fetch, hide: secrets.hide });
    checkModel(model);
    connections.learnOrigin(model);
    service.address = addressOf(model);
    return model;
  };
  const factsOf = ({ exchanges }: ModelCall): CallFacts => ({
    exchanges,
    profile,
    rules,
    secrets: secrets.all,
  });

  const service: OpenedVideoService & { address: string | undefined } = {
    profile,
    // By provider and model. It is known once the function has made its first model.
    address: undefined,
    start: (request, { idempotencyKey }) =>
      advised('submit', async () => {
        const call = new ModelCall('submit', calling);
        const { model, asked } = await call.prepare(async (signal) => {
          const made = await modelOf(call);
          const wording = { providerOptions, requestFields, images: connections.videos, signal };
          const headers = idempotencyHeader !== null && { headers: { [idempotencyHeader]: idempotencyKey } };
          return {
            model: made,
            asked: { ...(await callOptionsOf(request, made.provider, wording)), ...headers },
          };
        });
        const result = await call
          .run((abortSignal) => model.doStart({ ...asked, abortSignal }))
          .catch((error: unknown) => {
            throw submitFault(error, call.hasSentNothing(model), { ...factsOf(call), request });
          });
        return {
          taskId: taskIdOf(Reflect.get(Object(result), 'operation'), secrets.all),
          doubts: call.exchanges.length === 0 ? [IGNORES_FETCH] : [],
          warnings: readWarnings(result, secrets.all),
        };
      }),
    status: (taskId, { signal } = {}) =>
      advised('poll', async () => {
        const operation = operationOf(taskId);
        const call = new ModelCall('poll', calling, signal);
        const model = await call.prepare(() => modelOf(call));
        try {
          const result = await call.run((abortSignal) => model.doStatus({ operation, abortSignal }));
          return readingOf(result, factsOf(call));
        } catch (error) {
          if (signal?.aborted) throw signal.reason;
          return failedPoll(error, 'thrown', factsOf(call));
        }
      }),
    open: (link, opening) => advised('download', () => openVideo(link, connections.videos, opening)),
    close: () => connections.close(),
  };
  return service;
}

const IGNORES_FETCH = 'the function of aiSdkService did not give its fetch to the provider';

/** The general advice names settings of a service that is called directly. A model's package has its own. */
const ADVICE: Partial<Record<FailureType, string>> = {
  Unauthorized:
    'Check the key that the package of the model gets (key in VIDEOGEN_SERVICES_FILE, apiKey in a program, or its own variable), and that its account has credit. A job that has its task already continues on its own.',
  ServiceUnreachable: 'Check the address that the package of the model gets, and the network of the worker.',
  AnswerUnreadable: 'Check the address that the package of the model gets, and install its newest version.',
};

async function advised<T>(call: 'submit' | 'poll' | 'download', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    const { kind, facts } = error;
    const type = kind === 'answered' ? failureOfStatus(call, facts.status ?? 500) : BY_KIND[kind][call];
    const advice = ADVICE[type];
    throw advice === undefined ? error : new ServiceFault(kind, { ...facts, advice });
  }
}

/** A model whose generation is started by one call and asked about by others. */
type StartingModel = AiSdkVideoModel & Required<Pick<AiSdkVideoModel, 'doStart' | 'doStatus'>>;

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Throws for a model that only generates: it polls by itself, so nobody could take its task over after a crash. */
export function checkModel(model: AiSdkVideoModel, packageName?: string): asserts model is StartingModel {
  const { provider, modelId, doStart, doStatus } = Object(model);
  if (!isName(provider) || !isName(modelId)) {
    throw new Error(
      'what the function of aiSdkService made is not a video model of the AI SDK: it has no provider or no modelId',
    );
  }
  if (doStart && doStatus) return;
  // On Node 20, npm installs older versions by itself, because newer ones ask for Node 22.
  const install = `npm install ${packageName ?? `@ai-sdk/${provider.split('.')[0]}`}@latest`;
  throw new Error(
    `the model ${provider}/${modelId} has no doStart and doStatus, so its tasks cannot be polled one by one: run \`${install}\`, or reach the service by a profile`,
  );
}

/** Names the service in what workers learn, and in bills. */
function addressOf({ provider, modelId }: AiSdkVideoModel): string {
  return `ai-sdk://${encodeURIComponent(provider)}/${modelId.split('/').map(encodeURIComponent).join('/')}`;
}
