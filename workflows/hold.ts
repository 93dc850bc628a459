import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  metricMeter,
  proxyActivities,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import type { FailureDetails } from '../src/contract/failure-details';
import { decisionProblem } from '../src/contract/input-rules';
import type { JobInput, JobPhase, JobProgress } from '../src/contract/job';
import {
  commandOn,
  DECISION_REFUSED,
  describeDecisionCommands,
  describeRefusal,
  type SubmitDecision,
} from '../src/contract/lost-submit';
import { count } from '../src/contract/metrics';
import { ADOPT_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { createFailure, describeEvent, readFailure, type VideoFailure } from '../src/contract/video-failure';
import type { WebhookEvent } from '../src/contract/webhook';
import { logJob } from './log-event';
import { tellParent } from './notify';

/** The lost submit of a job while it waits for a decision. The deadline does not run meanwhile. */
export class SubmitHold {
  /** Set by `decideSubmit`, with the task that it adopts. */
  decided: { decision: SubmitDecision; task?: SubmittedTask } | undefined;
  /** A task that a decision wants to adopt is being polled and claimed. */
  isAdopting = false;
  /** The ids of the lost submits that are repeated, as decided: the submit activity must not report them again. */
  readonly repeats: string[] = [];
  /** How many holds began. */
  count = 0;
  private open: { sinceMs: number; lostSubmit: VideoFailure } | undefined;

  constructor(
    readonly holdMs: number,
    private pastHoldsMs = 0,
  ) {}

  get needsDecision(): boolean {
    return this.open !== undefined && this.decided === undefined;
  }

  /** How long the job has been held in total. */
  get heldMs(): number {
    return this.pastHoldsMs + (this.open ? Date.now() - this.open.sinceMs : 0);
  }

  /** The id of the lost submit that waits for a decision. */
  get lostSubmit(): string | undefined {
    return this.open?.lostSubmit.details.lostSubmit;
  }

  start(lostSubmit: VideoFailure): void {
    this.open = { sinceMs: Date.now(), lostSubmit };
    this.count++;
    this.decided = undefined;
  }

  end(): SubmitHold['decided'] {
    this.pastHoldsMs = this.heldMs;
    this.open = undefined;
    return this.decided;
  }

  repeat({ details: { lostSubmit } }: VideoFailure): void {
    if (lostSubmit !== undefined) this.repeats.push(lostSubmit);
  }

  progress(): JobProgress['hold'] {
    return (
      this.open && {
        since: new Date(this.open.sinceMs).toISOString(),
        until: new Date(this.open.sinceMs + this.holdMs).toISOString(),
        message: describeEvent('SubmitUnconfirmed', this.open.lostSubmit.details),
        lostSubmit: this.lostSubmit,
      }
    );
  }

  /** What a caller gets that waits for the task id of a held job. */
  failure(jobName: string): ApplicationFailure | undefined {
    const held = this.needsDecision ? this.progress() : undefined;
    return held && this.open && heldFailure(jobName, held, this.open.lostSubmit.details);
  }
}

/** The failure names the job that takes the decision. */
export function heldFailure(
  jobName: string,
  { since, until }: NonNullable<JobProgress['hold']>,
  details: FailureDetails,
): ApplicationFailure {
  const isHeld = `the job is held until ${until}: ${describeDecisionCommands(jobName)}`;
  return lostFailure(details, isHeld, { heldSince: since, heldUntil: until });
}

function lostFailure(details: FailureDetails, end: string, more: FailureDetails = {}): ApplicationFailure {
  const message = [details.message, end].filter(Boolean).join('; ');
  return createFailure('SubmitUnconfirmed', { ...details, message, ...more });
}

/** What a hold needs of its job. */
interface HeldJob {
  readonly name: string;
  readonly input: JobInput;
  readonly known: { taskId?: string; service?: string | undefined };
  readonly hold: SubmitHold;
  readonly phase: JobPhase;
  enter(phase: JobPhase): void;
  notifyReceiver(event: WebhookEvent): Promise<void>;
  recordAdopted(task: SubmittedTask): void;
}

/** Holds the job until somebody decides: that it has a task, or to submit once more. Throws when it ends. */
export async function waitForDecision(job: HeldJob, lostSubmit: VideoFailure): Promise<'adopted' | 'submit'> {
  const { hold } = job;
  count(metricMeter, 'videogen_holds_started_total');
  hold.start(lostSubmit);
  job.enter('needs-decision');
  logJob(job, 'held', {
    ...lostSubmit.details,
    heldUntil: hold.progress()?.until,
    decide: `${commandOn('decide', job.name, '--adopt TASK_ID')} (or --resubmit, or --abandon)`,
  });
  // Not awaited: the hold runs from its start, whatever becomes of the webhook.
  void job.notifyReceiver('video.needs_decision');
  tellParent({ hold: hold.progress() ?? null });
  try {
    await condition(() => hold.decided !== undefined, hold.holdMs, {
      summary: 'for a decision: adopt, resubmit or abandon',
    });
    // A decision that arrived in time may still be adopting its task.
    await condition(() => hold.decided !== undefined || allHandlersFinished());
  } catch (error) {
    hold.end();
    if (!isCancellation(error)) throw error;
    count(metricMeter, 'videogen_holds_ended_total', { end: 'cancelled' });
    // A cancellation must not hide that a task may exist.
    throw lostFailure(lostSubmit.details, 'the job was cancelled before anybody decided');
  }
  const { decision, task } = hold.end() ?? {};
  // The caller of the job sees its end anyway.
  if (decision && decision.decision !== 'abandon') tellParent({ hold: null });
  count(metricMeter, 'videogen_holds_ended_total', { end: decision?.decision ?? 'expired' });
  if (decision) logJob(job, 'decided', decision);
  switch (decision?.decision) {
    case 'adopt':
      if (task) job.recordAdopted(task);
      return 'adopted';
    case 'resubmit':
      hold.repeat(lostSubmit);
      return 'submit';
    case 'abandon':
      throw lostFailure(lostSubmit.details, 'abandoned by decision');
    case undefined:
      throw lostFailure(lostSubmit.details, `nobody decided within ${describeDuration(hold.holdMs)}`);
  }
}

function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(describeRefusal(message), DECISION_REFUSED);
}

/** Refuses a malformed decision, or one that no lost submit waits for. */
export function checkDecision({ hold, phase }: HeldJob, decision: SubmitDecision): void {
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
  if (!hold.needsDecision) {
    const why = hold.decided ? 'somebody has already decided' : `the job is ${phase}`;
    throw decisionRefused(`No decision is needed: ${why}.`);
  }
  const { lostSubmit = hold.lostSubmit } = decision;
  if (lostSubmit !== hold.lostSubmit)
    throw decisionRefused('The decision cannot be taken: it is about another lost submit than this one.');
}

/**
 * Takes a decision about a lost submit, or throws why not. One at a time: otherwise a `resubmit` could arrive while an
 * `adopt` polls its task, and the request would be sent again although the task was just found.
 */
export async function takeDecision(job: HeldJob, decision: SubmitDecision): Promise<void> {
  const { hold } = job;
  while (hold.isAdopting) await CancellationScope.nonCancellable(() => condition(() => !hold.isAdopting));
  checkDecision(job, decision);
  const task = decision.decision === 'adopt' ? await adopt(job, decision.taskId) : undefined;
  checkDecision(job, decision);
  hold.decided = { decision, ...(task && { task }) };
}

/** The task is polled first: a mistyped id would fail the job. */
async function adopt(job: HeldJob, taskId: string): Promise<SubmittedTask> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    summary: `${describeTask(taskId)}, to adopt it`,
  });
  const { request, caller } = job.input;
  const { service } = job.known;
  job.hold.isAdopting = true;
  try {
    return await adoptTask({ taskId, service, request, caller, isPolled: true });
  } catch (error) {
    throw decisionRefused(whyNotAdopted(taskId, error));
  } finally {
    job.hold.isAdopting = false;
  }
}

function whyNotAdopted(taskId: string, error: unknown): string {
  const task = JSON.stringify(taskId);
  if (isCancellation(error)) return `Task ${task} is not adopted: the job was cancelled.`;
  const failure = readFailure(error);
  if (failure?.type === 'TaskUnknown') {
    return `Task ${task} is not adopted: the service does not know it. Check the task id, and that the worker's API key belongs to the account that submitted it. The job stays held.`;
  }
  if (failure?.type === 'InvalidRequest')
    return `Task ${task} is not adopted: ${failure.details.message}. The job stays held.`;
  const reason = failure
    ? describeEvent(failure.type, failure.details)
    : 'the service did not answer in time.';
  return `Task ${task} is not adopted, because polling it failed: ${reason} The job stays held; decide again.`;
}
