import type { Client } from '@temporalio/client';
import type { Environment } from '../config/service-config';
import { readSetting } from '../config/settings';
import { readStorageConfig } from '../config/storage-config';
import type { BatchInput } from '../contract/batch';
import type { JobResult, VideoInput } from '../contract/job';
import type { KnownServices } from '../contract/service-choice';
import { encrypts } from '../encryption/data-converter';
import { createStorage, type VideoStorage } from '../storage';
import { connectClient } from './connect';
import { type ForgetOptions, type ForgottenJob, forgetJob } from './forget-job';
import { findOverview } from './job-overview';
import { type ListOptions, listJobs } from './list-jobs';
import type { JobOverview } from './overview';
import { prepareBatch, prepareJob, type StartOptions } from './prepare-start';
import { type RetriedJob, type RetryOptions, retryJob } from './retry-job';
import { startOrJoinOn } from './start-or-join';
import { batchOf, jobOf, type VideoBatch, type VideoJob } from './video-job';

/** What createVideoClient may be given; the environment says the rest. */
export interface VideoClientOptions {
  /** The settings for whatever is not given here. Default: `process.env`. */
  env?: Environment;
  /** Your own client, which you close. Default: one that connects with the `TEMPORAL_…` settings. */
  client?: Client;
  /** The task queue of the jobs. Default: `VIDEOGEN_TASK_QUEUE`, or `video-generation`. */
  taskQueue?: string;
  /** Request fields that the service takes beyond the interface. Default: those of the profile in `VIDEOGEN_PROFILE`. */
  requestFields?: readonly string[];
  /**
   * The services of the workers. Jobs get their default from it, and unknown names are refused. Default:
   * those of the file in `VIDEOGEN_SERVICES_FILE`; without it, the workers know.
   */
  services?: KnownServices;
  /**
   * Whether jobs get the search attributes VideoTaskId, VideoPhase and VideoOutcome, which the namespace must have
   * registered. Batches get none. A client that encrypts leaves VideoTaskId out. Default: `VIDEOGEN_SEARCH_ATTRIBUTES`, or false.
   */
  searchAttributes?: boolean;
  /** Told when a job or batch that somebody waits for has no worker. Default: `process.emitWarning`. */
  log?: (line: string) => void;
  /** Where the videos of the jobs are, for `forget`. Default: `VIDEOGEN_STORAGE`. */
  storage?: VideoStorage;
}

/** Starts and finds jobs and batches. */
export interface VideoClient {
  /** Starts a job, or joins the one that already has the workflow id. Needs no running worker. */
  start(input: VideoInput, options?: StartOptions): Promise<VideoJob>;
  /** Starts or joins a job and waits for its task id: when it resolves, the service has accepted the request. */
  submit(input: VideoInput, options?: StartOptions): Promise<{ job: VideoJob; taskId: string }>;
  /** Starts or joins a job and waits for its result. Rejects with a VideoFailure. */
  execute(input: VideoInput, options?: StartOptions): Promise<JobResult>;
  /** A job that was started before, here or elsewhere, running or ended, by its workflow id. Sends nothing by itself. */
  handle(workflowId: string): VideoJob;
  /** Starts a batch, or joins the one that already has the workflow id. A batch that ended with items left continues. */
  startBatch(input: BatchInput, options?: StartOptions): Promise<VideoBatch>;
  /** A batch that was started before, by its workflow id, as `handle` is for a job. */
  batch(workflowId: string): VideoBatch;
  /**
   * The jobs and batches of the namespace, newest first, as far as Temporal knows them without asking a worker.
   *
   * @example
   * ```ts
   * for await (const { workflowId, failure } of videos.list({ states: ['failed'], limit: 10 })) console.log(workflowId, failure);
   * ```
   */
  list(options?: ListOptions): AsyncIterable<JobOverview>;
  /** The same about one job or batch; undefined if Temporal has none with this workflow id. Needs no running worker. */
  find(workflowId: string): Promise<JobOverview | undefined>;
  /**
   * Tries an ended job again. A task that may still produce a video is adopted by a new job, whose name is always the same for the
   * same job; without a known task, the job starts again under its own name, as a batch does. `resubmit` pays for another task.
   * Rejects with a RetryRefused.
   *
   * @example
   * ```ts
   * const { workflowId, adopted } = await videos.retry('fox-1');
   * ```
   */
  retry(workflowId: string, options?: RetryOptions): Promise<RetriedJob>;
  /**
   * Removes what can be removed of an ended job or batch: its files in the storage and its executions in Temporal. It
   * cannot be undone. Run it again if it was interrupted. Rejects with a ForgetRefused.
   *
   * @example
   * ```ts
   * const { removed, kept, stays } = await videos.forget('fox-1');
   * ```
   */
  forget(workflowId: string, options?: ForgetOptions): Promise<ForgottenJob>;
  /** Closes the connection, unless you gave the client. */
  close(): Promise<void>;
}

/**
 * Connects to Temporal and creates a client for jobs and batches.
 *
 * @example
 * ```ts
 * const videos = await createVideoClient();
 * const job = await videos.start({ request: { prompt: 'A red fox in the snow' } }, { workflowId: 'red-fox' });
 * const { video } = await job.result();
 * await videos.close();
 * ```
 */
export async function createVideoClient(options: VideoClientOptions = {}): Promise<VideoClient> {
  const { env, log = (line) => process.emitWarning(line, 'VideogenWarning') } = options;
  const taskQueue = options.taskQueue ?? readSetting('VIDEOGEN_TASK_QUEUE', env);
  const searchAttributes =
    options.searchAttributes ?? readSetting('VIDEOGEN_SEARCH_ATTRIBUTES', env) ?? false;
  const client = options.client ?? (await connectClient(env));
  const hidesTaskId = encrypts(client.options.loadedDataConverter);
  const services = options.services ?? readSetting('VIDEOGEN_SERVICES_FILE', env);
  const withSettings = (startOptions?: StartOptions) => ({
    ...startOptions,
    services,
    searchAttributes,
    hidesTaskId,
    // Read at a start: commands that only show jobs need no profile.
    requestFields: options.requestFields ?? readSetting('VIDEOGEN_PROFILE', env)?.requestFields,
  });

  const start: VideoClient['start'] = async (given, startOptions) => {
    const job = prepareJob(given, withSettings(startOptions));
    const outcome = await startOrJoinOn(client, taskQueue, job);
    const endedAt = 'existing' in outcome ? outcome.existing.closeTime : undefined;
    return jobOf(client.workflow.getHandle(job.options.workflowId), { endedAt, log });
  };

  const startBatch: VideoClient['startBatch'] = async (given, startOptions) => {
    const batch = prepareBatch(given, withSettings(startOptions));
    await startOrJoinOn(client, taskQueue, batch);
    return batchOf(client.workflow.getHandle(batch.options.workflowId), log);
  };

  return {
    start,
    submit: async (input, startOptions) => {
      const job = await start(input, startOptions);
      return { job, taskId: await job.taskId() };
    },
    execute: async (input, startOptions) => (await start(input, startOptions)).result(),
    handle: (workflowId) => jobOf(client.workflow.getHandle(workflowId), { log }),
    startBatch,
    batch: (workflowId) => batchOf(client.workflow.getHandle(workflowId), log),
    list: (listOptions) => listJobs(client, listOptions),
    find: (workflowId) => findOverview(client, workflowId),
    retry: (workflowId, retryOptions) => retryJob(client, workflowId, retryOptions),
    forget: (workflowId, forgetOptions) =>
      forgetJob(client, options.storage ?? createStorage(readStorageConfig(env)), workflowId, forgetOptions),
    close: async () => {
      if (!options.client) await client.connection.close();
    },
  };
}
