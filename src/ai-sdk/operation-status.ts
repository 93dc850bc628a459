import type { JobOverview } from '../client/overview';
import type { VideoClient } from '../client/video-client';
import { shown } from '../contract/clean-text';
import { isWorkflowId } from '../contract/input-rules';
import { describeDecisionCommands } from '../contract/lost-submit';
import { isVideoFailure } from '../contract/video-failure';
import { isInScope, type JobScope } from './job-scope';
import type { EndedJob, FailedJob } from './model-metadata';
import { refused } from './model-options';
import { MOST_VIDEOS_PER_CALL } from './prepare-call';
import type { ModelMetadata, ModelWarning } from './video-model-v4';

/**
 * Programs keep operations for days, in places where anybody may write. A job outside the scope is refused without a look: it
 * may be somebody else's.
 */
export function readOperation(operation: unknown, scope: JobScope): string[] {
  const names: unknown[] = Array.isArray(operation) ? operation : [operation];
  const ours = names.filter(isWorkflowId).filter((name) => isInScope(scope, name));
  const areAllOurs = ours.length > 0 && ours.length === names.length && ours.length <= MOST_VIDEOS_PER_CALL;
  if (areAllOurs) return ours;
  throw refused('the operation is not one of this model: pass on what experimental_startVideo returned');
}

/** Where the jobs of one call are, together. */
export type JobsStatus =
  | { state: 'pending'; jobs: JobOverview[] }
  | { state: 'failed'; first: FailedJob }
  | { state: 'succeeded'; jobs: EndedJob[]; failed: FailedJob[] };

type JobStatus =
  | { state: 'pending'; overview: JobOverview }
  | ({ state: 'failed' } & FailedJob)
  | { state: 'succeeded'; job: EndedJob };

export async function statusOfJobs(client: VideoClient, names: readonly string[]): Promise<JobsStatus> {
  const found = await Promise.all(names.map((name) => statusOfJob(client, name)));
  const pending = found.flatMap((one) => (one.state === 'pending' ? [one.overview] : []));
  if (pending.length > 0) return { state: 'pending', jobs: pending };
  const failed = found.flatMap((one) => (one.state === 'failed' ? [one] : []));
  const jobs = found.flatMap((one) => (one.state === 'succeeded' ? [one.job] : []));
  const [first] = failed;
  return first && jobs.length === 0 ? { state: 'failed', first } : { state: 'succeeded', jobs, failed };
}

/** Without a worker: Temporal itself knows how far a job is. */
async function statusOfJob(client: VideoClient, workflowId: string): Promise<JobStatus> {
  const overview = await client.find(workflowId);
  const failed = (sentence: string): JobStatus => ({ state: 'failed', workflowId, sentence });
  if (overview?.kind !== 'job') {
    return failed(
      `Temporal has no video job ${shown(workflowId)}: it is of another namespace, or its retention has passed. The same call starts it again, and finds its video if the storage still has it.`,
    );
  }
  if (overview.endedAt === undefined) return { state: 'pending', overview };
  try {
    return { state: 'succeeded', job: { workflowId, result: await client.handle(workflowId).result() } };
  } catch (error) {
    if (isVideoFailure(error)) return failed(error.message);
    throw error;
  }
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
