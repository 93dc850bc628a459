import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { queuesInInput, resolveQueues } from '../config/queues';
import { type Environment, readProfile } from '../config/service-config';
import { readSearchAttributes } from '../config/temporal-config';
import type { BatchInput } from '../contract/batch';
import type { JobInput, JobResult } from '../contract/job';
import { connectClient } from './connect';
import { prepareBatch, prepareJob } from './prepare-start';
import { explainStart } from './search-attributes';
import { type PreparedOptions, startOrJoin } from './start-or-join';
import { batchOf, type VideoBatch } from './video-batch';
import { jobOf, type VideoJob } from './video-job';

export interface VideoClientOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  client?: Client;
  taskQueue?: string;
  /** Where the jobs' submits wait; `<taskQueue>-submit` unless set, as a worker has it. The task queue itself for one. */
  submitQueue?: string;
  /** Where the jobs' downloads wait, when not on the task queue; what VIDEOGEN_DOWNLOAD_QUEUE names unless set. */
  downloadQueue?: string;
  /** Fields that requests may have beyond the interface; those of the profile that the environment names unless set. */
  requestFields?: readonly string[];
  /**
   * Whether jobs can be found by VideoTaskId, VideoPhase and VideoOutcome; the namespace must have them registered. What
   * VIDEOGEN_SEARCH_ATTRIBUTES says unless set. Batches have none.
   */
  searchAttributes?: boolean;
}

export interface StartOptions {
  /** The name of the job. The same request under it joins the job, whether it runs or has ended; another is refused. */
  workflowId?: string;
  /** Anything else that Temporal offers at a start, such as `priority` or `memo`. */
  temporal?: Partial<WorkflowStartOptions>;
}

export interface VideoClient {
  /** Starts a job, or joins the one that has the name already. Needs no worker to be running. */
  start(input: JobInput, options?: StartOptions): Promise<VideoJob>;
  /** The same in one call with waiting for the task id: when it resolves, the service has accepted the request. */
  submit(input: JobInput, options?: StartOptions): Promise<{ job: VideoJob; taskId: string }>;
  execute(input: JobInput, options?: StartOptions): Promise<JobResult>;
  handle(workflowId: string): VideoJob;
  /** Starts a batch, or joins the one that has the name already; one that stopped or was cancelled goes on. */
  startBatch(input: BatchInput, options?: StartOptions): Promise<VideoBatch>;
  batch(workflowId: string): VideoBatch;
  close(): Promise<void>;
}

export async function createVideoClient(options: VideoClientOptions = {}): Promise<VideoClient> {
  const { env } = options;
  const queues = resolveQueues(options, env);
  const { taskQueue } = queues;
  const client = options.client ?? (await connectClient(env));

  const requestFields = options.requestFields ?? readProfile(env)?.requestFields ?? [];
  const searchAttributes = options.searchAttributes ?? readSearchAttributes(env) ?? false;
  const settings = { queues: queuesInInput(queues), requestFields, searchAttributes };

  const send =
    (type: string) =>
    <Input>(startOptions: PreparedOptions<Input>) =>
      client.workflow.start(type, { ...startOptions, taskQueue }).catch(async (error: unknown) => {
        if (error instanceof WorkflowExecutionAlreadyStartedError || !searchAttributes) throw error;
        throw await explainStart(error, client);
      });

  const start: VideoClient['start'] = async (given, startOptions) => {
    const job = prepareJob(given, { ...startOptions, ...settings });
    const outcome = await startOrJoin(client, job, send(job.type));
    const endedAt = 'existing' in outcome ? outcome.existing.closeTime : undefined;
    return jobOf(client.workflow.getHandle(job.options.workflowId), { identity: job.identity, endedAt });
  };

  const startBatch: VideoClient['startBatch'] = async (given, startOptions) => {
    const batch = prepareBatch(given, { ...startOptions, ...settings });
    await startOrJoin(client, batch, send(batch.type));
    return batchOf(client.workflow.getHandle(batch.options.workflowId));
  };

  const submit: VideoClient['submit'] = async (given, givenOptions) => {
    const job = await start(given, givenOptions);
    return { job, taskId: await job.taskId() };
  };

  return {
    start,
    submit,
    execute: async (input, startOptions) => (await start(input, startOptions)).result(),
    handle: (workflowId) => jobOf(client.workflow.getHandle(workflowId)),
    startBatch,
    batch: (workflowId) => batchOf(client.workflow.getHandle(workflowId)),
    close: async () => {
      if (!options.client) await client.connection.close();
    },
  };
}
