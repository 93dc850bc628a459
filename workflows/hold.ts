import type { ApplicationFailure } from '@temporalio/workflow';
import type { SubmittedTask } from '../activities';
import type { FailureDetails } from '../src/contract/failure-details';
import type { JobProgress } from '../src/contract/job';
import { describeDecisionCommands, type SubmitDecision } from '../src/contract/lost-submit';
import { createFailure, describeEvent, type VideoFailure } from '../src/contract/video-failure';

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

export function lostFailure(
  details: FailureDetails,
  end: string,
  more: FailureDetails = {},
): ApplicationFailure {
  const message = [details.message, end].filter(Boolean).join('; ');
  return createFailure('SubmitUnconfirmed', { ...details, message, ...more });
}
