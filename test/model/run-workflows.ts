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
import type { Action, NamedTask } from './random-script';

export * from '../../workflows';

/** A job, a batch or a fallback to start, and what is done when to it or to one of its jobs. */
export interface WorkflowStart {
  workflowId: string;
  taskQueue: string;
  workflowType: string;
  input: object;
  actions: { atMs: number; action: Action; job: string }[];
}

export interface OperatorActivities {
  taskToAdopt(job: string, task: NamedTask): Promise<string>;
  /** A workflow cannot send an update to another. Returns once the job has it, or has refused it. */
  decideSubmit(job: string, decision: SubmitDecision): Promise<void>;
  /** Cancels a job while the clock stands: the server does not lock it for a cancellation by another workflow. */
  cancelJob(job: string): Promise<void>;
  /** False when it had ended. */
  terminateJob(job: string): Promise<boolean>;
  /** Whether a workflow or one of its children runs. */
  isRunning(workflowId: string): Promise<boolean>;
}

const FIRST_CHECK_MS = 60_000;

/** What is still running after this is stuck. */
const LONGEST_JOB = '300d';

const cancelled = new Set<string>();

const { taskToAdopt, decideSubmit, cancelJob, terminateJob, isRunning } = proxyActivities<OperatorActivities>(
  { startToCloseTimeout: '1m' },
);

/**
 * Runs the workflows of many scripts at once. A client that awaits several workflows would keep the server from skipping time,
 * so that only this one is awaited. Returns those that did not end.
 */
export async function runWorkflows(starts: WorkflowStart[]): Promise<string[]> {
  const ended = await Promise.all(starts.map(runToEnd));
  return starts.filter((_, index) => !ended[index]).map(({ workflowId }) => workflowId);
}

async function runToEnd({ actions, ...start }: WorkflowStart): Promise<boolean> {
  const scope = new CancellationScope();
  const workflow = new RestartableWorkflow(start);
  await workflow.start();
  const done = scope
    .run(() => Promise.all(actions.map((one) => actLater(one, workflow))))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  const late = scope
    .run(() => sleep(LONGEST_JOB))
    .then(
      () => false,
      () => true,
    );
  const all = condition(() => workflow.hasEnded).then(() => workflow.untilNoneIsLeft());
  const ended = await Promise.race([all.then(() => true), late]);
  scope.cancel();
  await done;
  return ended;
}

/** A workflow that may be started again. The test server tells nobody that it was terminated. */
class RestartableWorkflow {
  hasEnded = false;
  private starts = 0;

  constructor(private readonly given: Omit<WorkflowStart, 'actions'>) {}

  async start(): Promise<void> {
    const { workflowType, workflowId, taskQueue, input } = this.given;
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

  /** A batch that stops may leave items running that it began before it was started again. */
  async untilNoneIsLeft(): Promise<void> {
    if (this.starts === 1) return;
    for (let pauseMs = FIRST_CHECK_MS; await isRunning(this.given.workflowId); pauseMs *= 2)
      await sleep(pauseMs);
  }
}

async function actLater(
  { atMs, action, job }: WorkflowStart['actions'][number],
  workflow: RestartableWorkflow,
): Promise<void> {
  if (atMs > 0) await sleep(atMs);
  try {
    // The test server breaks a workflow that cancels an activity which has just ended.
    await CancellationScope.nonCancellable(async () => {
      switch (action.kind) {
        case 'poll-now':
          return getExternalWorkflowHandle(job).signal(POLL_NOW_SIGNAL);
        case 'cancel':
          // The test server breaks this workflow for a second one.
          if (cancelled.has(job)) return;
          cancelled.add(job);
          return cancelJob(job);
        case 'restart':
          if (await terminateJob(job)) await workflow.start();
          return;
        case 'adopt':
          return decideSubmit(job, { decision: 'adopt', taskId: await taskToAdopt(job, action.task) });
        case 'resubmit':
          return decideSubmit(job, {
            decision: 'resubmit',
            ...(action.about && { lostSubmit: action.about }),
          });
        case 'abandon':
          return decideSubmit(job, { decision: 'abandon' });
      }
    });
  } catch (error) {
    // It has ended, or has not begun.
    if (isCancellation(error)) throw error;
  }
}
