import type { VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import type { JobInput } from '../contract/job';
import { isVideoFailure, type VideoFailure } from '../contract/video-failure';
import type { EndedJob, FailedJob } from './model-metadata';

/** The jobs of a call that run, those that were refused, and why one could not be started. */
export interface StartedJobs {
  jobs: VideoJob[];
  refused: UnmadeVideo[];
  error?: { cause: unknown };
}

interface UnmadeVideo {
  workflowId: string;
  failure: VideoFailure;
}

/** Waits for each start: those that succeed are paid for, whatever becomes of the others. */
export async function startAll(
  client: VideoClient,
  input: JobInput,
  names: readonly string[],
): Promise<StartedJobs> {
  const started: StartedJobs = { jobs: [], refused: [] };
  const starts = await Promise.allSettled(names.map((workflowId) => client.start(input, { workflowId })));
  for (const [index, one] of starts.entries()) {
    if (one.status === 'fulfilled') started.jobs.push(one.value);
    else if (isVideoFailure(one.reason))
      started.refused.push({ workflowId: names[index] ?? '', failure: one.reason });
    else started.error ??= { cause: one.reason };
  }
  return started;
}

/** Throws unless a job was started and each of the others refused: the same call joins those that run. */
export function startedOf({ jobs, refused, error }: StartedJobs): { jobs: VideoJob[]; failed: FailedJob[] } {
  if (error) throw error.cause;
  const [first] = refused;
  if (first && jobs.length === 0) throw first.failure;
  return { jobs, failed: refused.map(failedJob) };
}

const failedJob = ({ workflowId, failure }: UnmadeVideo): FailedJob => ({
  workflowId,
  sentence: failure.message,
});

/** How the jobs of a call ended. Rejects with the first failure if none has a video. */
export async function endsOf(started: StartedJobs): Promise<{ ended: EndedJob[]; failed: FailedJob[] }> {
  const { jobs, failed } = startedOf(started);
  const ends = await Promise.all(jobs.map(endOf));
  const ended = ends.flatMap((end) => ('result' in end ? [end] : []));
  const failures = ends.flatMap((end) => ('failure' in end ? [end] : []));
  const [first] = failures;
  if (first && ended.length === 0) throw first.failure;
  return { ended, failed: [...failed, ...failures.map(failedJob)] };
}

/** The task id first: a lost submit waits for a decision for a day, and who waits for the video has to know. */
async function endOf(job: VideoJob): Promise<EndedJob | UnmadeVideo> {
  const { workflowId } = job;
  try {
    await job.taskId();
    return { workflowId, result: await job.result() };
  } catch (failure) {
    if (isVideoFailure(failure)) return { workflowId, failure };
    throw failure;
  }
}

export async function cancelAll({ jobs }: StartedJobs): Promise<void> {
  // One that has ended already cannot be cancelled, and need not be.
  await Promise.allSettled(jobs.map((job) => job.cancel()));
}
