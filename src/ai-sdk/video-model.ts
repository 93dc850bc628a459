import type { Client } from '@temporalio/client';
import { createVideoClient, type VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import { ConfigError, type Environment } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import type { JobResult } from '../contract/job';
import { createStorage, storeImage, type VideoStorage } from '../storage';
import { toCallError } from './call-error';
import { DEFAULT_MAX_VIDEO_BYTES, DELIVERIES, type Delivery, deliver } from './deliver-video';
import {
  cancelAll,
  endsOf,
  failureWarnings,
  metadataOf,
  type Outcomes,
  pendingStatus,
  startJobs,
  statusOfJobs,
} from './jobs-of-call';
import { unlessAborted } from './model-call';
import {
  type ModelJobOptions,
  PROVIDER,
  type PreparedCall,
  prepareCall,
  readOperation,
  readScope,
} from './prepare-call';
import type {
  AiSdkCallOptions,
  ModelResponse,
  ModelResult,
  OperationStatus,
  StartedOperation,
} from './video-model-types';

/** What videoModel may be given; the environment says the rest. */
export interface VideoModelOptions {
  /**
   * A client of createVideoClient, or one of Temporal's; you close either. Default: one that connects with the `TEMPORAL_…`
   * settings at the first call.
   */
  client?: VideoClient | Client;
  /** The task queue of the jobs, unless the client is one of createVideoClient. Default: `VIDEOGEN_TASK_QUEUE`, or `video-generation`. */
  taskQueue?: string;
  /** The settings for whatever is not given here. Default: `process.env`. */
  env?: Environment;
  /** Options for each job. `providerOptions.videogen` of a call goes before them. */
  job?: Omit<ModelJobOptions, 'name'>;
  /**
   * How the workflow ids of this model begin, such as `shop-`. Only such jobs are handed over by their operation, so models whose
   * scopes differ never see each other's jobs. Default: `ai-sdk-`.
   */
  scope?: string;
  /** Where the workers store videos. Default: `VIDEOGEN_STORAGE`. */
  storage?: VideoStorage;
  /** How videos are handed over. Default: `bytes`. */
  delivery?: Delivery;
  /** The most bytes that the videos of one call may have to be read into memory. Default: 256 MiB. */
  maxVideoBytes?: number;
  /** The model in logs and warnings of the AI SDK. Default: the service of the jobs, or `default`. */
  modelId?: string;
}

/** A video model for the AI SDK whose calls are jobs: a VideoModelV4 of its provider interface. */
export interface JobVideoModel {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly maxVideosPerCall: number;
  /** Starts or joins the job of a call, and waits for its video. */
  doGenerate(call: AiSdkCallOptions): Promise<ModelResult>;
  /** Starts or joins the job of a call. When it resolves, Temporal has the job. */
  doStart(call: AiSdkCallOptions & { webhookUrl?: string | undefined }): Promise<StartedOperation>;
  /** Where the job is now, and its video once there is one. */
  doStatus(options: { operation: unknown; abortSignal?: AbortSignal | undefined }): Promise<OperationStatus>;
  /** Closes the connection, unless you gave the client. */
  close(): Promise<void>;
}

/**
 * A video model for `experimental_generateVideo`, `experimental_startVideo` and `experimental_getVideoStatus` of the AI SDK.
 * The same call joins its job, also from another process: it never pays twice.
 *
 * @example
 * ```ts
 * const model = videoModel({ job: { deadline: '2h' } });
 * // const { video } = await experimental_generateVideo({ model, prompt: 'A red fox in the snow', duration: 5 });
 * ```
 */
export function videoModel(options: VideoModelOptions = {}): JobVideoModel {
  const { env, job: defaults, delivery = 'bytes', maxVideoBytes = DEFAULT_MAX_VIDEO_BYTES } = options;
  const { modelId = defaults?.service ?? 'default' } = options;
  if (!DELIVERIES.includes(delivery)) {
    throw new ConfigError(`The option delivery must be one of ${DELIVERIES.join(', ')}.`);
  }
  if (typeof maxVideoBytes !== 'number' || !(maxVideoBytes > 0)) {
    throw new ConfigError(
      `The option maxVideoBytes must be a number of bytes, such as ${DEFAULT_MAX_VIDEO_BYTES}.`,
    );
  }
  const scope = readScope(options.scope);
  const connection = connectOnce(options);
  const storage = () => options.storage ?? createStorage(readStorageConfig(env));
  const response = (): ModelResponse => ({ timestamp: new Date(), modelId, headers: undefined });

  const start = async (
    prepared: PreparedCall,
    signal: AbortSignal | undefined,
    cancelling: Promise<void>[] = [],
  ): Promise<Outcomes<VideoJob>> => {
    if (prepared.image) await storeImage(storage(), prepared.image);
    const client = await connection.client();
    // Nothing is paid for yet, and nobody waits for it.
    signal?.throwIfAborted();
    const running: VideoJob[] = [];
    const starting = startJobs(client, prepared, running);
    if (prepared.cancelOnAbort) {
      // Also after a start: `ai` asks for the status then, and only this signal tells that nobody wants the video.
      const cancel = () => cancelling.push(starting.catch(() => undefined).then(() => cancelAll(running)));
      signal?.addEventListener('abort', cancel, { once: true });
    }
    return starting;
  };

  const result = async (outcomes: Outcomes<JobResult>): Promise<ModelResult> => ({
    videos: await deliver(
      outcomes.good.map(({ value }) => value.video),
      { delivery, maxVideoBytes, storage },
    ),
    warnings: [
      ...failureWarnings(outcomes),
      ...outcomes.good
        .flatMap(({ value }) => value.warnings)
        .map((message) => ({ type: 'other' as const, message })),
    ],
    providerMetadata: metadataOf(outcomes),
    response: response(),
  });

  return {
    specificationVersion: 'v4',
    provider: PROVIDER,
    modelId,
    // Else `ai` makes one call for each of n videos, all of them the same, and so they would be one job.
    maxVideosPerCall: Number.MAX_SAFE_INTEGER,

    doGenerate: (call) =>
      asCall(call.abortSignal, async () => {
        const prepared = prepareCall(call, defaults, scope);
        const cancelling: Promise<void>[] = [];
        try {
          const ending = start(prepared, call.abortSignal, cancelling).then(endsOf);
          const { warnings, ...made } = await result(await unlessAborted(ending, call.abortSignal));
          return { ...made, warnings: [...prepared.warnings, ...warnings] };
        } finally {
          // The process may end right after its call.
          await Promise.all(cancelling);
        }
      }),

    doStart: (call) =>
      asCall(call.abortSignal, async () => {
        const prepared = prepareCall(call, defaults, scope);
        const started = await unlessAborted(start(prepared, call.abortSignal), call.abortSignal);
        const [workflowId = '', ...others] = started.good.map((job) => job.workflowId);
        return {
          operation: others.length === 0 ? workflowId : [workflowId, ...others],
          warnings: [...prepared.warnings, ...failureWarnings(started)],
          providerMetadata: { videogen: { workflowId } },
          response: response(),
        };
      }),

    doStatus: ({ operation, abortSignal }) =>
      asCall(abortSignal, async () => {
        const names = readOperation(operation, scope);
        const looking = connection.client().then((client) => statusOfJobs(client, names));
        const status = await unlessAborted(looking, abortSignal);
        if ('pending' in status) return { ...pendingStatus(status.pending), response: response() };
        const [first] = status.failed;
        if (first && status.good.length === 0) {
          const { workflowId, failure } = first;
          return {
            status: 'error',
            error: failure.message,
            providerMetadata: { videogen: { workflowId } },
            response: response(),
          };
        }
        return { status: 'completed', ...(await unlessAborted(result(status), abortSignal)) };
      }),

    close: connection.close,
  };
}

/** An error becomes one of the AI SDK's, which says whether `ai` may repeat the call. An abort stays what it is. */
async function asCall<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? error : toCallError(error);
  }
}

/** Connects at the first call; after a failure, at the next one again. */
function connectOnce({ client: given, taskQueue, env }: VideoModelOptions) {
  if (given && isVideoClient(given)) {
    if (taskQueue !== undefined) {
      throw new ConfigError(
        'The client has its task queue: give taskQueue to createVideoClient, not to videoModel.',
      );
    }
    return { client: async () => given, close: async () => undefined };
  }
  let connecting: Promise<VideoClient> | undefined;
  return {
    client(): Promise<VideoClient> {
      connecting ??= createVideoClient({ client: given, taskQueue, env }).catch((error: unknown) => {
        connecting = undefined;
        throw error;
      });
      return connecting;
    },
    async close(): Promise<void> {
      const client = await connecting?.catch(() => undefined);
      connecting = undefined;
      await client?.close();
    },
  };
}

function isVideoClient(client: VideoClient | Client): client is VideoClient {
  return 'startBatch' in client;
}
