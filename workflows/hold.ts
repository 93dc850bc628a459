import type { ApplicationFailure } from '@temporalio/workflow';
import type { CarriedJob } from '../src/contract/carried-over';
import type { JobProgress, SignalledDecision } from '../src/contract/job';
import type { SubmitDecision } from '../src/contract/lost-submit';
import { describeDecisionCommands } from '../src/contract/lost-submit';
import { cutToBytes } from '../src/contract/sizes';
import {
  createFailure,
  describeEvent,
  type FailureDetails,
  VideoFailure,
} from '../src/contract/video-failure';

/** The lost submit of a job while it waits for a decision. The deadline does not run meanwhile. */
export class SubmitHold {
  /** Set by `decideSubmit`. */
  decision: SubmitDecision | undefined;
  /** Decisions being checked: the hold does not expire until they are taken or refused. */
  pendingDecisions = 0;
  /** A task that a decision wants to adopt is being polled. */
  isPollingCandidate = false;
  /** The last decision that arrived as a signal. */
  signalled: SignalledDecision | undefined;
  /** The message of the last lost submit that somebody decided on: the submit activity must not report it again. */
  decidedLostSubmit: string | undefined;
  /** How many holds began. */
  count = 0;
  private open: { sinceMs: number; lostSubmit: VideoFailure } | undefined;
  private pastHoldsMs: number;

  constructor(
    private readonly holdMs: number,
    carried: Pick<CarriedJob, 'hold' | 'pastHoldsMs'> = {},
  ) {
    this.pastHoldsMs = carried.pastHoldsMs ?? 0;
    this.open = carried.hold && {
      sinceMs: carried.hold.sinceMs,
      lostSubmit: new VideoFailure('SubmitUnconfirmed', carried.hold.lostSubmit),
    };
  }

  /** Set while the job is held, also by the run before this one. */
  get lostSubmit(): VideoFailure | undefined {
    return this.open?.lostSubmit;
  }

  get needsDecision(): boolean {
    return this.open !== undefined && this.decision === undefined;
  }

  /** How long the job has been held in total. */
  get heldMs(): number {
    return this.pastHoldsMs + (this.open ? Date.now() - this.open.sinceMs : 0);
  }

  /** Starts a hold or keeps the one carried over; returns how long it may last. */
  start(lostSubmit: VideoFailure): number {
    this.open ??= { sinceMs: Date.now(), lostSubmit };
    this.count++;
    this.decision = undefined;
    return Math.max(0, this.open.sinceMs + this.holdMs - Date.now());
  }

  end(): SubmitDecision | undefined {
    this.pastHoldsMs = this.heldMs;
    this.decidedLostSubmit = this.open?.lostSubmit.details.message;
    this.open = undefined;
    return this.decision;
  }

  progress(): JobProgress['hold'] {
    return (
      this.open && {
        since: new Date(this.open.sinceMs).toISOString(),
        until: new Date(this.open.sinceMs + this.holdMs).toISOString(),
        message: describeEvent('SubmitUnconfirmed', this.open.lostSubmit.details),
      }
    );
  }

  /** What a caller gets that waits for the task id of a held job. */
  failure(jobName: string): ApplicationFailure | undefined {
    const hold = this.progress();
    if (hold === undefined || this.open === undefined || !this.needsDecision) return undefined;
    const { details } = this.open.lostSubmit;
    const isHeld = `the job is held until ${hold.until}: ${describeDecisionCommands(jobName)}`;
    return createFailure('SubmitUnconfirmed', {
      ...details,
      message: [details.message, isHeld].filter(Boolean).join('; '),
      heldSince: hold.since,
      heldUntil: hold.until,
    });
  }

  carry(longestTextBytes: number): Pick<CarriedJob, 'hold' | 'pastHoldsMs'> {
    return {
      hold: this.open && {
        sinceMs: this.open.sinceMs,
        lostSubmit: cutDetails(this.open.lostSubmit.details, longestTextBytes),
      },
      pastHoldsMs: this.pastHoldsMs || undefined,
    };
  }
}

/** submit-video.ts compares this message with that of earlier-runs.ts, so it is never cut; the longest is shorter. */
const HOLD_MESSAGE_BYTES = 160;

function cutDetails({ code, message, ...details }: FailureDetails, longestBytes: number): FailureDetails {
  return {
    ...details,
    ...(code !== undefined && { code: cutToBytes(code, longestBytes) }),
    ...(message !== undefined && {
      message: cutToBytes(message, Math.max(longestBytes, HOLD_MESSAGE_BYTES)),
    }),
  };
}
