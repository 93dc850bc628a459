import { createHash } from 'node:crypto';
import type { JobOverview } from '../client/overview';
import { createVideoClient, type VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import { ConfigError, type Environment } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import { shown } from '../contract/clean-text';
import { isWorkflowId } from '../contract/input-rules';
import type { JobResult, StoredVideo } from '../contract/job';
import { describeDecisionCommands } from '../contract/lost-submit';
import { isVideoFailure } from '../contract/video-failure';
import { createStorage, readStoredVideo, storeImage, type VideoStorage } from '../storage';
import { readUpTo } from '../storage/small-files';
import { CallError, toCallError } from './call-error';
import {
  type JobOfCall,
  jobOfCall,
  type ModelCallOptions,
  type ModelJobOptions,
  PROVIDER,
  refused,
} from './job-of-call';
import { unlessAborted } from './model-call';
import type { JsonValue, ModelWarning } from './video-model-types';

/** What videoModel may be given; the environment says the rest. */
export interface VideoModelOptions {
  /** A client of createVideoClient, which you close. Default: one that connects with the settings at the first call. */
  client?: VideoClient;
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
}

/** What every answer of the model has: facts about its job, and when it answered. */
interface ModelAnswer {
  providerMetadata: { videogen: Record<string, JsonValue | undefined> };
  response: { timestamp: Date; modelId: string; headers: undefined };
}

interface FinishedVideo extends ModelAnswer {
  videos: { type: 'binary'; data: Uint8Array; mediaType: string }[];
  warnings: ModelWarning[];
}

/** A video model for the AI SDK whose calls are jobs: a VideoModelV4 of its provider interface. */
export interface JobVideoModel {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly maxVideosPerCall: number;
  /** Starts or joins the job of a call, and waits for its video. */
  doGenerate(call: ModelCallOptions): Promise<FinishedVideo>;
  /** Starts or joins the job of a call. When it resolves, Temporal has the job. The operation is its workflow id. */
  doStart(call: ModelCallOptions): Promise<ModelAnswer & { operation: string; warnings: ModelWarning[] }>;
  /** Where the job is now, and its video once there is one. */
  doStatus(options: {
    operation: unknown;
    abortSignal?: AbortSignal | undefined;
  }): Promise<
    | (ModelAnswer & { status: 'pending'; warnings: ModelWarning[] })
    | (FinishedVideo & { status: 'completed' })
    | (ModelAnswer & { status: 'error'; error: string })
  >;
  /** Closes the connection, unless you gave the client. */
  close(): Promise<void>;
}

/** Another one would have every call pay again that is repeated after an update of this package. */
const DEFAULT_SCOPE = 'ai-sdk-';
/** A prefix is a word or two. */
const LONGEST_SCOPE_CHARS = 100;

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
  const { env, job: defaults, scope = DEFAULT_SCOPE } = options;
  if (!isWorkflowId(scope) || scope.length > LONGEST_SCOPE_CHARS) {
    throw new ConfigError(
      `The option scope must be text of 1 to ${LONGEST_SCOPE_CHARS} characters, such as "shop-".`,
    );
  }
  const modelId = defaults?.service ?? 'default';
  const connection = connectOnce(options);
  const storage = () => options.storage ?? createStorage(readStorageConfig(env));
  const answer = (videogen: Record<string, JsonValue | undefined>): ModelAnswer => ({
    providerMetadata: { videogen },
    response: { timestamp: new Date(), modelId, headers: undefined },
  });

  const start = async ({ input, workflowId, image }: JobOfCall, signal?: AbortSignal): Promise<VideoJob> => {
    if (image) await storeImage(storage(), image);
    const client = await connection.client();
    // Nothing is paid for yet, and nobody waits for it.
    signal?.throwIfAborted();
    return client.start(input, { workflowId });
  };

  const finished = async (workflowId: string, { video, ...facts }: JobResult): Promise<FinishedVideo> => ({
    videos: [{ type: 'binary', data: await readVideo(video, storage()), mediaType: video.contentType }],
    warnings: facts.warnings.map((message) => ({ type: 'other', message })),
    // JSON leaves out what is undefined.
    ...answer(JSON.parse(JSON.stringify({ workflowId, phase: 'succeeded', ...facts, ...video }))),
  });

  const statusOf = async (workflowId: string): ReturnType<JobVideoModel['doStatus']> => {
    const client = await connection.client();
    const found = await client.find(workflowId);
    if (found?.kind !== 'job')
      return { status: 'error', error: missing(workflowId), ...answer({ workflowId }) };
    if (found.endedAt === undefined) {
      const { phase, taskId } = found;
      const facts = { workflowId, ...(phase && { phase }), ...(taskId !== undefined && { taskId }) };
      return { status: 'pending', warnings: decisionNeeded(found), ...answer(facts) };
    }
    try {
      const result = await client.handle(workflowId).result();
      return { status: 'completed', ...(await finished(workflowId, result)) };
    } catch (error) {
      // Any other error says nothing about the job, and fails the call.
      if (!isVideoFailure(error)) throw error;
      return { status: 'error', error: error.message, ...answer({ workflowId }) };
    }
  };

  return {
    specificationVersion: 'v4',
    provider: PROVIDER,
    modelId,
    // With 1, `ai` would make n calls that are all the same job, and hand over one video n times. More than 1 is refused.
    maxVideosPerCall: Number.MAX_SAFE_INTEGER,

    doGenerate: (call) =>
      asCall(call.abortSignal, async () => {
        const job = jobOfCall(call, defaults, scope);
        const started = await start(job, call.abortSignal);
        // The task id first: a lost submit waits for a decision for a day, and the caller has to know.
        await started.taskId();
        const made = await finished(job.workflowId, await started.result());
        return { ...made, warnings: [...job.warnings, ...made.warnings] };
      }),

    doStart: (call) =>
      asCall(call.abortSignal, async () => {
        const job = jobOfCall(call, defaults, scope);
        const { workflowId } = await start(job, call.abortSignal);
        return { operation: workflowId, warnings: job.warnings, ...answer({ workflowId }) };
      }),

    doStatus: ({ operation, abortSignal }) =>
      asCall(abortSignal, async () => {
        // Programs keep operations where anybody may write. A job outside the scope may be somebody else's.
        if (!isWorkflowId(operation) || !operation.startsWith(scope))
          throw refused(
            'the operation is not one of this model: pass on what experimental_startVideo returned',
          );
        return statusOf(operation);
      }),

    close: connection.close,
  };
}

/**
 * An abort ends the waiting and stays what it is; the job continues. An error becomes one of the AI SDK's, which says whether `ai`
 * may repeat the call.
 */
async function asCall<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await unlessAborted(work(), signal);
  } catch (error) {
    throw signal?.aborted ? error : toCallError(error);
  }
}

const missing = (workflowId: string) =>
  `Temporal has no video job ${shown(workflowId)}: it is of another namespace, or its retention has passed. The same call starts it again, and finds its video if the storage still has it.`;

/** Pending, because the job has not ended; without a decision nothing happens until its hold ends. */
function decisionNeeded({ workflowId, state }: JobOverview): ModelWarning[] {
  if (state !== 'needs-decision') return [];
  const message = `The job ${shown(workflowId)} waits for a decision, because the answer to its submit is lost and a paid task may exist: ${describeDecisionCommands(workflowId)}.`;
  return [{ type: 'other', message }];
}

/** `ai` keeps every video in memory, and once more as base64 text if that is asked for. */
const MAX_VIDEO_BYTES = 256 * 1024 * 1024;

/** The video of a job, as it was stored. */
async function readVideo({ uri, bytes, sha256 }: StoredVideo, storage: VideoStorage): Promise<Uint8Array> {
  if (bytes > MAX_VIDEO_BYTES) {
    throw unread(
      `The AI SDK keeps videos in memory, and ${uri} has ${bytes} bytes, more than ${MAX_VIDEO_BYTES}: fetch it with \`videogen generate --id NAME --out FILE\`.`,
    );
  }
  const stream = await readStoredVideo(storage, uri);
  if (stream === undefined) {
    throw unread(
      `The video is stored at ${uri}, which this process cannot read: set VIDEOGEN_STORAGE here as on the workers (or the option storage of videoModel). If it was removed, call with another providerOptions.videogen.name to make another one.`,
    );
  }
  const data = await readUpTo(stream, bytes + 1);
  if (createHash('sha256').update(data).digest('hex') !== sha256)
    throw unread(`The file ${uri} is no longer the video of the job. Find out what has changed it.`);
  return new Uint8Array(data);
}

/** Nothing is repeated: the video is there, and reading it again would end the same way. */
const unread = (message: string) => new CallError(message, { isRetryable: false });

/** Connects at the first call; after a failure, at the next one again. */
function connectOnce({ client: given, env }: VideoModelOptions) {
  if (given) return { client: async () => given, close: async () => undefined };
  let connecting: Promise<VideoClient> | undefined;
  return {
    client(): Promise<VideoClient> {
      connecting ??= createVideoClient({ env }).catch((error: unknown) => {
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
