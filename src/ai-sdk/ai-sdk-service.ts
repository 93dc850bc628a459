import type { VideoSize } from '../client/video-size';
import type { VideoRequest } from '../contract/request';
import { MAX_ANSWER_BYTES } from '../service/call-service';
import type { TaskReading, VideoService } from '../service/http-video-service';
import { openVideo } from '../service/open-video';
import { readingRules, type ServiceProfile } from '../service/profile';
import { ServiceFault } from '../service/service-fault';
import { DEFAULT_TIMEOUTS, type ServiceTimeouts } from '../service/service-options';
import { callOptionsOf, needsImageBytes } from './call-options';
import { fetchImage } from './fetch-image';
import { pollGenerating, startGenerating } from './generating-model';
import { KnownSecrets } from './known-secrets';
import { LARGEST_ANSWER_BYTES } from './large-answers';
import { type MakingLimits, ModelCall, type RequestGuard, usesFetch } from './model-call';
import { ModelConnections } from './model-connections';
import { type OperationStorage, Operations } from './operations';
import { OwnOrigins } from './own-origins';
import { type CallFacts, pollThatThrew, submitFault } from './read-call';
import { type ReadStart, readCompleted, readStart, readStatus } from './read-result';
import { GeneratePoll, GenerateStart, guardNothing, guardStart } from './request-guards';
import { readable } from './sdk-errors';
import { readingOf, stillGenerating } from './task-of-result';
import type {
  AiSdkCallOptions,
  AiSdkModelSource,
  AiSdkProviderOptions,
  AiSdkVideoModel,
} from './video-model-types';

/** Options of aiSdkService. */
export interface AiSdkServiceOptions {
  /** What a profile says beside paths and headers: name, prices, polling, refusals, and where charges are in answers. */
  profile?: ServiceProfile;
  /** Options of the provider for every request, by the provider's name: `{ fal: { loop: true } }`. */
  providerOptions?: AiSdkProviderOptions;
  /** Further fields that a request may have. Their values become options of the provider. */
  requestFields?: readonly string[];
  /** The size of a video such as `1280x720`, for a model that needs others than those of the table. */
  size?: (request: VideoRequest) => VideoSize | undefined;
  /** Hosts that videos may come from without TLS or at an address that is not public. */
  downloadAllow?: readonly string[];
  /** For a slower service. */
  timeouts?: Partial<ServiceTimeouts>;
  /** The keys of the provider, to hide them. Only for a model by itself: those of a function are seen. */
  secrets?: () => readonly string[];
  /** Where operations are kept that are too large for a task id, or have a signed link in them. */
  storage?: OperationStorage;
  /**
   * The addresses of the service, such as `https://api.example.com`: its key goes nowhere else. Only for a model that does not
   * say it itself, as most do, or whose `fetch` leads it elsewhere.
   */
  origins?: readonly string[];
}

/**
 * A video service for a model of the AI SDK: one with `doStart` and `doStatus`, or a function that makes a model with the
 * `fetch` that it is given. The function is the better way: with it, what was sent is known exactly, keys are found and
 * hidden, and models that only have `doGenerate` work too.
 *
 * @example
 * ```ts
 * const service = aiSdkService(({ fetch }) => createFal({ apiKey: readKey(), fetch }).video('luma-dream-machine'));
 * const activities = createVideoActivities({ service, storage: createFileStorage('./videos') });
 * ```
 */
export function aiSdkService(
  model: AiSdkVideoModel | AiSdkModelSource,
  options: AiSdkServiceOptions = {},
): VideoService {
  if (typeof model !== 'function') checkModel(model);
  return new AiSdkService(model, options);
}

class AiSdkService implements VideoService {
  readonly profile: ServiceProfile;
  private readonly timeouts: ServiceTimeouts;
  private readonly rules;
  private readonly secrets: KnownSecrets;
  private readonly operations: Operations;
  private readonly origins: OwnOrigins;
  private readonly connections: ModelConnections;
  private named: string | undefined;

  constructor(
    private readonly source: AiSdkVideoModel | AiSdkModelSource,
    private readonly options: AiSdkServiceOptions,
  ) {
    const { profile = {}, requestFields = [], timeouts, secrets = () => [] } = options;
    this.profile = { ...profile, requestFields: [...(profile.requestFields ?? []), ...requestFields] };
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...timeouts };
    this.rules = readingRules(profile);
    this.secrets = new KnownSecrets(secrets);
    this.operations = new Operations(options.storage);
    this.origins = new OwnOrigins(options.origins ?? []);
    this.connections = new ModelConnections({
      timeouts: this.timeouts,
      downloadAllow: options.downloadAllow ?? [],
      secrets: this.secrets,
      origins: this.origins,
    });
    if (typeof source !== 'function') this.named = addressOf(source);
  }

  /** By provider and model. Of a function it is known once it has made its first model. */
  get address(): string | undefined {
    return this.named;
  }

  async submit(
    request: VideoRequest,
    { idempotencyKey }: { idempotencyKey: string },
  ): ReturnType<VideoService['submit']> {
    const generate = new GenerateStart();
    const guardOnce = guardStart();
    // Which of the two a model needs is known once it is made.
    let guard: RequestGuard = guardOnce;
    const call = this.begin('submit', (sent) => guard(sent));
    const limitMs = this.timeouts.exchange.submit;
    const { model, callOptions } = await call.prepare(async () => {
      const made = await this.modelOf(call, { limitMs });
      return { model: made, callOptions: await this.callOptions(request, made, idempotencyKey) };
    });
    const facts = () => this.factsOf(call, request);
    if (model.doStart) {
      const { doStart } = model;
      const started = await call
        .run(limitMs, undefined, async (abortSignal) =>
          readStart(await doStart.call(model, { ...callOptions, abortSignal }), this.secrets.all),
        )
        .catch((error: unknown) => {
          throw submitFault(error, facts());
        });
      const { operation, doubts, ...task } = await this.started(started, call);
      const whyForeign = this.connections.whyForeign(operation);
      return { ...task, doubts: whyForeign === undefined ? doubts : [...doubts, whyForeign] };
    }
    guard = generate.guard;
    const operation = await startGenerating(model, callOptions, { call, generate, facts, limitMs });
    const { operation: _, ...task } = await this.started({ operation, warnings: [] }, call);
    return task;
  }

  private async started({ operation, warnings }: ReadStart, call: ModelCall) {
    const task = await this.operations.toTaskId(operation, this.secrets.all);
    const ignoresFetch = typeof this.source === 'function' && call.own.length === 0;
    if (ignoresFetch) task.doubts.push('the function of aiSdkService did not give its fetch to the provider');
    return { ...task, warnings };
  }

  async poll(taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<TaskReading> {
    const operation = await this.operations.ofTask(taskId);
    let guard: RequestGuard = guardNothing;
    const call = this.begin('poll', (sent) => guard(sent));
    const limitMs = this.timeouts.exchange.poll;
    const model = await call.prepare(() => this.modelOf(call, { limitMs, signal }), signal);
    const generate = new GeneratePoll(operation, (url) => this.origins.add(url));
    if (model.doStatus === undefined) guard = generate.guard;
    else this.connections.checkOperation(operation);
    try {
      const result = await call.run(limitMs, signal, (abortSignal) =>
        model.doStatus ? model.doStatus({ operation, abortSignal }) : pollGenerating(model, abortSignal),
      );
      const status = model.doStatus ? readStatus(result) : readCompleted(result);
      return readingOf(status, result, this.factsOf(call));
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      const error = readable(thrown);
      if (error instanceof ServiceFault) throw error;
      const facts = this.factsOf(call);
      return generate.hasStopped ? stillGenerating(facts) : pollThatThrew(error, facts);
    }
  }

  openVideo: VideoService['openVideo'] = (link, opening) => openVideo(link, this.connections.videos, opening);

  /** Models of the AI SDK cannot cancel. */
  async cancel(): ReturnType<VideoService['cancel']> {
    return 'not-offered';
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private begin(kind: 'submit' | 'poll', guard: RequestGuard): ModelCall {
    this.secrets.refresh();
    const isSubmit = kind === 'submit';
    return new ModelCall({
      source: this.source,
      route: isSubmit ? this.connections.forSubmit : this.connections.forPoll,
      timeouts: this.timeouts[kind],
      mostBytes: isSubmit ? MAX_ANSWER_BYTES : LARGEST_ANSWER_BYTES,
      secrets: this.secrets,
      guard,
    });
  }

  private async modelOf(call: ModelCall, limits: MakingLimits): Promise<AiSdkVideoModel> {
    const model = await call.model(limits);
    const problem =
      whyUnusable(model) ?? (needsFetch(model) && !usesFetch(model, call.fetch) ? GIVE_FETCH : undefined);
    if (problem !== undefined) throw new ServiceFault('not-sent', { message: problem });
    this.named = addressOf(model);
    this.origins.learnFrom(model);
    return model;
  }

  private async callOptions(
    request: VideoRequest,
    { provider }: AiSdkVideoModel,
    idempotencyKey: string,
  ): Promise<AiSdkCallOptions> {
    const { providerOptions = {}, size } = this.options;
    const { requestFields = [], idempotencyHeader = 'Idempotency-Key' } = this.profile;
    const options = callOptionsOf(request, provider, { providerOptions, requestFields, size });
    const { image } = options;
    const isLink = image?.type === 'url' && needsImageBytes(provider);
    return {
      ...options,
      ...(isLink && { image: await fetchImage(image.url, this.connections.videos) }),
      ...(idempotencyHeader !== null && { headers: { [idempotencyHeader]: idempotencyKey } }),
    };
  }

  private factsOf(call: ModelCall, request?: VideoRequest): CallFacts {
    return {
      exchanges: call.exchanges,
      sentNothing: call.sentNothing,
      profile: this.profile,
      rules: this.rules,
      secrets: this.secrets.all,
      ...(request && { request }),
    };
  }
}

const GIVE_FETCH =
  'the model has no doStart, so the function of aiSdkService must give its fetch to the provider: ({ fetch }) => createProvider({ fetch }).video(…)';

/** Why a model cannot be used; undefined when it can. */
function whyUnusable(model: AiSdkVideoModel): string | undefined {
  const { provider, modelId, doStart, doStatus, doGenerate } = Object(model);
  if (!isName(provider) || !isName(modelId))
    return 'what was made is no video model of the AI SDK: it has no provider or no modelId';
  const named = `the model ${provider}/${modelId}`;
  if (/^prodia\b/.test(provider))
    return `${named} answers its one request with the video itself, so a lost answer loses the video`;
  if ((doStart && doStatus) || (!doStart && doGenerate)) return undefined;
  return `${named} is no video model of the AI SDK: it has neither doStart and doStatus nor doGenerate`;
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

const needsFetch = ({ doStart }: AiSdkVideoModel): boolean => doStart === undefined;

function checkModel(model: AiSdkVideoModel): void {
  const problem = whyUnusable(model);
  if (problem !== undefined) throw new TypeError(`aiSdkService: ${problem}.`);
  if (needsFetch(model)) {
    throw new TypeError(
      `aiSdkService: the model ${model.provider}/${model.modelId} has no doStart. Give a function that makes it, so that its polls can be made one by one: aiSdkService(({ fetch }) => createProvider({ fetch }).video('${model.modelId}')).`,
    );
  }
}

/** Names the service in the file of learned times and in bills. */
function addressOf({ provider, modelId }: AiSdkVideoModel): string {
  return `ai-sdk://${encodeURIComponent(provider)}/${modelId.split('/').map(encodeURIComponent).join('/')}`;
}
