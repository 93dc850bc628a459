import {
  CancellationScope,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  sleep,
  startChild,
} from '@temporalio/workflow';
import type { BatchInput } from '../../src/contract/batch';
import type { JobInput } from '../../src/contract/job';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { DECIDE_SUBMIT_SIGNAL, POLL_NOW_SIGNAL } from '../../src/contract/names';
import type { Deed } from './script';

export * from '../../workflows';

/** One job or batch that the director starts, and what is done to it when. */
export interface Cue {
  workflowId: string;
  taskQueue: string;
  workflowType: string;
  input: JobInput | BatchInput;
  /** Each for one item, in a batch. */
  deeds: { atMs: number; deed: Deed; item?: number }[];
}

type Decision = SubmitDecision & { item?: number };

export interface DirectorActivities {
  taskToAdopt(workflowId: string, generation: number | 'unknown', item?: number): Promise<string>;
  /** Cancels a job while the clock stands: the server does not lock it for a cancellation by another workflow. */
  cancelJob(workflowId: string): Promise<void>;
}

/** A job that is still running after this is stuck. */
const LONGEST_JOB = '300d';

const cancelled = new Set<string>();

const { taskToAdopt, cancelJob } = proxyActivities<DirectorActivities>({ startToCloseTimeout: '1m' });

/**
 * Runs many jobs at once. A client that awaits several of them would keep the server from skipping time, so that only
 * this workflow is awaited. Returns the jobs that did not end.
 */
export async function direct(cues: Cue[]): Promise<string[]> {
  const ended = await Promise.all(cues.map(perform));
  return cues.filter((_, index) => !ended[index]).map(({ workflowId }) => workflowId);
}

async function perform({ workflowId, taskQueue, workflowType, input, deeds }: Cue): Promise<boolean> {
  const child = await startChild(workflowType, {
    workflowId,
    taskQueue,
    args: [input],
    parentClosePolicy: ParentClosePolicy.TERMINATE,
  });
  const rest = new CancellationScope();
  const done = rest
    .run(() => Promise.all(deeds.map((one) => doLater(workflowId, one))))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  const ended = await Promise.race([
    child.result().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof ChildWorkflowFailure)) throw error;
        return true;
      },
    ),
    rest
      .run(() => sleep(LONGEST_JOB))
      .then(
        () => false,
        () => true,
      ),
  ]);
  rest.cancel();
  await done;
  return ended;
}

async function doLater(workflowId: string, { atMs, deed, item }: Cue['deeds'][number]): Promise<void> {
  if (atMs > 0) await sleep(atMs);
  const job = getExternalWorkflowHandle(workflowId);
  try {
    switch (deed.kind) {
      case 'poll-now':
        return await job.signal(POLL_NOW_SIGNAL);
      case 'cancel':
        // The test server breaks the director for a second one.
        if (cancelled.has(workflowId)) return;
        cancelled.add(workflowId);
        return await CancellationScope.nonCancellable(() => cancelJob(workflowId));
      case 'adopt': {
        // The test server breaks a workflow that cancels an activity which has just ended.
        const taskId = await CancellationScope.nonCancellable(() =>
          taskToAdopt(workflowId, deed.generation, item),
        );
        return await job.signal<[Decision]>(DECIDE_SUBMIT_SIGNAL, { item, decision: 'adopt', taskId });
      }
      default:
        return await job.signal<[Decision]>(DECIDE_SUBMIT_SIGNAL, { item, decision: deed.kind });
    }
  } catch (error) {
    // The job has ended.
    if (isCancellation(error)) throw error;
  }
}
