import type { JobOverview } from '../client/overview';
import type { VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import { shown } from '../contract/clean-text';
import type { JobResult } from '../contract/job';
import { describeDecisionCommands } from '../contract/lost-submit';
import { isVideoFailure } from '../contract/video-failure';
import type { PreparedCall } from './prepare-call';
import type { ModelMetadata, ModelWarning } from './video-model-types';

/** A job, and what was asked of it: that it runs, or its result. */
interface GoodJob<T> {
  workflowId: string;
  value: T;
}

/** A job that failed, that was refused, or that Temporal does not have. */
interface FailedJob {
  workflowId: string;
  failure: Error;
}

/** What became of the jobs of a call. */
export interface Outcomes<T> {
  good: GoodJob<T>[];
  failed: FailedJob[];
}

/**
 * Starts the jobs of a call, or joins them, and adds them to `running`: they are paid for, whatever becomes of the others. Throws
 * the first failure if none runs. The same call joins those that do.
 */
export async function startJobs(
  client: VideoClient,
  { input, names }: Pick<PreparedCall, 'input' | 'names'>,
  running: VideoJob[],
): Promise<Outcomes<VideoJob>> {
  const starts = names.map(async (workflowId) => {
    const started = await outcomeOf(workflowId, client.start(input, { workflowId }));
    if ('value' in started) running.push(started.value);
    return started;
  });
  await Promise.allSettled(starts);
  return unlessAllFailed(sorted(await Promise.all(starts)));
}

/** How started jobs ended. Throws the first failure if none has a video. */
export async function endsOf({ good, failed }: Outcomes<VideoJob>): Promise<Outcomes<JobResult>> {
  // The task id first: a lost submit waits for a decision for a day, and the caller has to know.
  const ends = good.map(({ workflowId, value: job }) =>
    outcomeOf(
      workflowId,
      job.taskId().then(() => job.result()),
    ),
  );
  return unlessAllFailed(sorted([...failed, ...(await Promise.all(ends))]));
}

export async function cancelAll(jobs: readonly VideoJob[]): Promise<void> {
  // One that has ended already cannot be cancelled, and need not be.
  await Promise.allSettled(jobs.map((job) => job.cancel()));
}

/** The jobs of an operation that still run, or how all of them ended. Temporal itself knows: no worker is needed. */
export async function statusOfJobs(
  client: VideoClient,
  names: readonly string[],
): Promise<{ pending: JobOverview[] } | Outcomes<JobResult>> {
  const found = await Promise.all(names.map((name) => client.find(name)));
  const jobs = found.flatMap((overview) => (overview?.kind === 'job' ? [overview] : []));
  const pending = jobs.filter(({ endedAt }) => endedAt === undefined);
  if (pending.length > 0) return { pending };
  const known = new Set(jobs.map(({ workflowId }) => workflowId));
  const ends = names.map(async (name) =>
    known.has(name)
      ? outcomeOf(name, client.handle(name).result())
      : { workflowId: name, failure: missing(name) },
  );
  return sorted(await Promise.all(ends));
}

const missing = (workflowId: string) =>
  new Error(
    `Temporal has no video job ${shown(workflowId)}: it is of another namespace, or its retention has passed. The same call starts it again, and finds its video if the storage still has it.`,
  );

/** A failure of the job is an outcome. Any other error says nothing about the job, and fails the call. */
async function outcomeOf<T>(workflowId: string, work: Promise<T>): Promise<GoodJob<T> | FailedJob> {
  try {
    return { workflowId, value: await work };
  } catch (failure) {
    if (isVideoFailure(failure)) return { workflowId, failure };
    throw failure;
  }
}

function sorted<T>(outcomes: readonly (GoodJob<T> | FailedJob)[]): Outcomes<T> {
  return {
    good: outcomes.flatMap((one) => ('failure' in one ? [] : [one])),
    failed: outcomes.flatMap((one) => ('failure' in one ? [one] : [])),
  };
}

function unlessAllFailed<T>(outcomes: Outcomes<T>): Outcomes<T> {
  const [first] = outcomes.failed;
  if (first && outcomes.good.length === 0) throw first.failure;
  return outcomes;
}

/** What `providerMetadata.videogen` says: the facts of the first video, and under `videos` those of each. */
export function metadataOf({ good }: Outcomes<JobResult>): ModelMetadata {
  const videos: ModelMetadata['videogen'][] = good.map(({ workflowId, value: { video, ...facts } }) =>
    // JSON leaves out what is undefined.
    JSON.parse(JSON.stringify({ workflowId, ...facts, ...video })),
  );
  return { videogen: { ...videos[0], phase: 'succeeded', videos } };
}

/** Jobs that failed while others did not: their videos are paid for and wanted. */
export function failureWarnings({ good, failed }: Outcomes<unknown>): ModelWarning[] {
  const count = good.length + failed.length;
  return failed.map(({ failure }) => ({
    type: 'other',
    message: `One of ${count} videos was not made. ${failure.message}`,
  }));
}

/** What is known of jobs that run; the facts are those of the first. */
export function pendingStatus(jobs: readonly JobOverview[]): {
  status: 'pending';
  warnings: ModelWarning[];
  providerMetadata: ModelMetadata;
} {
  const [{ workflowId = '', phase, taskId } = {}] = jobs;
  return {
    status: 'pending',
    warnings: jobs.filter(({ state }) => state === 'needs-decision').map(needsDecision),
    providerMetadata: {
      videogen: { workflowId, ...(phase && { phase }), ...(taskId !== undefined && { taskId }) },
    },
  };
}

/** Pending, because the job has not ended; without a decision nothing happens until its hold ends. */
function needsDecision({ workflowId }: JobOverview): ModelWarning {
  const message = `The job ${shown(workflowId)} waits for a decision, because the answer to its submit is lost and a paid task may exist: ${describeDecisionCommands(workflowId)}.`;
  return { type: 'other', message };
}
