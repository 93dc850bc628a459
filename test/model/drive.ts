import {
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  sleep,
  startChild,
} from '@temporalio/workflow';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { POLL_NOW_SIGNAL } from '../../src/contract/names';
import type { Deed, NamedTask } from './script';

export * from '../../workflows';

/** A job, a batch or a fallback to start, and what is done when to it or to one of its jobs. */
export interface Plan {
  workflowId: string;
  taskQueue: string;
  workflowType: string;
  input: object;
  deeds: { atMs: number; deed: Deed; job: string }[];
}

export interface DriveActivities {
  taskToAdopt(job: string, generation: NamedTask): Promise<string>;
  /** A workflow cannot send an update to another. Returns once the job has it, or has refused it. */
  decideSubmit(job: string, decision: SubmitDecision): Promise<void>;
  /** Cancels a job while the clock stands: the server does not lock it for a cancellation by another workflow. */
  cancelJob(job: string): Promise<void>;
  /** False when it had ended. */
  terminateJob(job: string): Promise<boolean>;
  /** Whether a workflow or one of its children runs. */
  isRunning(workflowId: string): Promise<boolean>;
}

const FIRST_LOOK_MS = 60_000;

/** What is still running after this is stuck. */
const LONGEST_JOB = '300d';

const cancelled = new Set<string>();

const { taskToAdopt, decideSubmit, cancelJob, terminateJob, isRunning } = proxyActivities<DriveActivities>({
  startToCloseTimeout: '1m',
});

/**
 * Runs many scripts at once. A client that awaits several workflows would keep the server from skipping time, so that only this
 * one is awaited. Returns those that did not end.
 */
export async function drive(plans: Plan[]): Promise<string[]> {
  const ended = await Promise.all(plans.map(carryOut));
  return plans.filter((_, index) => !ended[index]).map(({ workflowId }) => workflowId);
}

async function carryOut({ deeds, ...started }: Plan): Promise<boolean> {
  const rest = new CancellationScope();
  const life = new Life(started);
  await life.start();
  const done = rest
    .run(() => Promise.all(deeds.map((one) => doLater(one, life))))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  const late = rest
    .run(() => sleep(LONGEST_JOB))
    .then(
      () => false,
      () => true,
    );
  const all = condition(() => life.hasEnded).then(() => life.untilNoneIsLeft());
  const ended = await Promise.race([all.then(() => true), late]);
  rest.cancel();
  await done;
  return ended;
}

/** A workflow that may be started again. The test server tells nobody that it was terminated. */
class Life {
  hasEnded = false;
  private starts = 0;

  constructor(private readonly started: Omit<Plan, 'deeds'>) {}

  async start(): Promise<void> {
    const { workflowType, workflowId, taskQueue, input } = this.started;
    this.starts += 1;
    const { starts } = this;
    const child = await startChild(workflowType, {
      workflowId,
      taskQueue,
      args: [input],
      parentClosePolicy: ParentClosePolicy.TERMINATE,
    });
    const end = () => {
      if (starts === this.starts) this.hasEnded = true;
    };
    child.result().then(end, (error: unknown) => {
      if (!(error instanceof ChildWorkflowFailure)) throw error;
      end();
    });
  }

  /** A batch that stops may leave items running that it began in an earlier life. */
  async untilNoneIsLeft(): Promise<void> {
    if (this.starts === 1) return;
    for (let pauseMs = FIRST_LOOK_MS; await isRunning(this.started.workflowId); pauseMs *= 2)
      await sleep(pauseMs);
  }
}

async function doLater({ atMs, deed, job }: Plan['deeds'][number], life: Life): Promise<void> {
  if (atMs > 0) await sleep(atMs);
  const handle = getExternalWorkflowHandle(job);
  const decide = (decision: SubmitDecision) => decideSubmit(job, decision);
  try {
    // The test server breaks a workflow that cancels an activity which has just ended.
    await CancellationScope.nonCancellable(async () => {
      switch (deed.kind) {
        case 'poll-now':
          return handle.signal(POLL_NOW_SIGNAL);
        case 'cancel':
          // The test server breaks this workflow for a second one.
          if (cancelled.has(job)) return;
          cancelled.add(job);
          return cancelJob(job);
        case 'restart':
          if (await terminateJob(job)) await life.start();
          return;
        case 'adopt':
          return decide({ decision: 'adopt', taskId: await taskToAdopt(job, deed.generation) });
        case 'resubmit':
          return decide({ decision: 'resubmit', ...(deed.about && { lostSubmit: deed.about }) });
        case 'abandon':
          return decide({ decision: 'abandon' });
      }
    });
  } catch (error) {
    // It has ended, or has not begun.
    if (isCancellation(error)) throw error;
  }
}
