import type { SubmittedTask } from '../../activities';
import type { PolledTask } from '../../activities/poll-video';
import type { WaitingTask } from '../../activities/polls/poll-plan';
import type { FailureType } from '../../src/contract/failure-table';
import type { ReportedProgress } from '../../src/contract/job';
import type { ActivityEnd, Outcome, WorkflowEvent } from './events';
import type { ServiceScript, SharedOptions } from './random-script';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** After a poll that failed the pause is doubled, from the first of these up to the second. */
const FAILED_POLL_MS = { least: 3 * SECOND, most: 2 * MINUTE };
const LONGEST_RETRY_AFTER_MS = 10 * MINUTE;
/** This many polls in a row without the video are too many. */
const MOST_WITHOUT_VIDEO = 5;
const LEAST_POLL_CLOSE_MS = MINUTE;
/** As the runner sets it. */
const LOCAL_POLL_CLOSE_MS = 1.5 * SECOND;
const LEAST_DOWNLOAD_CLOSE_MS = 10 * MINUTE;
/** For the check of a task that somebody wants to adopt. */
const ADOPT_CLOSE_MS = MINUTE;
/** A decision may still be taken so late: it and the end of the hold reach the workflow together. */
const LATE_DECISION_MS = 20 * SECOND;

/** What a job is given, and what its service does. */
export interface JobTerms extends SharedOptions, Pick<ServiceScript, 'taskEnds'> {
  /** How long its submit may be tried; until the deadline by default. */
  submitWithinMs?: number;
  service?: string;
  /** The seed of the request, which the result repeats. */
  seed?: number;
  /** The task that the job was started to adopt. */
  taskAtStart?: string;
}

type EventOf<Kind extends WorkflowEvent['kind']> = Extract<WorkflowEvent, { kind: Kind }>;
type Decision = { lostSubmit?: string } & (
  | { decision: 'resubmit' | 'abandon' }
  | { decision: 'adopt'; taskId: string }
);

/** What the job is to do now (`to-…`), or waits for. */
type Phase =
  | { name: 'not-started' | 'to-adopt-given' | 'to-submit' | 'to-recall' }
  | { name: 'to-hold' | 'held' | 'to-adopt-found' }
  | { name: 'to-poll' | 'to-poll-regularly' | 'continued' | 'to-download' | 'ended' }
  | { name: 'to-take-noted'; taskId: string }
  | { name: 'taking-noted'; seq: number; taskId: string }
  | {
      name: 'adopting-given' | 'submitting' | 'recalling' | 'polling' | 'downloading' | 'cancelling';
      seq: number;
    }
  | { name: 'sleeping'; untilMs: number }
  | { name: 'to-cancel-at-service' | 'to-end'; allowed: Outcome[] };

/**
 * What a job must do from its start to its end, told as one walk through what happened to it. It knows the script and reads no
 * clock: how long the service and the machine took is in the events, and all else follows to the millisecond.
 */
export class JobModel {
  readonly problems: string[] = [];
  polls = 0;
  taskId: string | undefined;
  isCancelled = false;
  outcome: Outcome | undefined;
  /** When it was held, and until when: to its end unless somebody decided. */
  readonly holds: { fromMs: number; toMs: number }[] = [];
  startedAtMs = 0;
  /** What the job was started with. */
  input: Record<string, unknown> = {};
  private phase: Phase = { name: 'not-started' };
  private nowMs = 0;
  private event: WorkflowEvent | undefined;
  private submittedAtMs = 0;
  private waitedMs = 0;
  private heldMs = 0;
  private heldSinceMs = 0;
  private hasRecord = false;
  private isAdopted = false;
  private wasSeen = false;
  private progress: ReportedProgress | undefined;
  /** Of a task that the submit has just made. */
  private kind: string | undefined;
  /** As the activities said: when to poll is arithmetic, tested by itself. */
  private nextPollMs = 0;
  /** What the last poll was told. */
  private asked: WaitingTask & { polledMs?: number } = {};
  private withinMs: number | undefined;
  private polledMs = 0;
  private retryAfterMs: number | undefined;
  private failedPolls = 0;
  private polledLocally = false;
  /** Polls in a row that found a success without a video. */
  private withoutVideo = 0;
  private isRequested = false;
  /** Of the submit that the job is held for, and those that somebody let be sent again. */
  private lostSubmit: string | undefined;
  private readonly repeats: (string | undefined)[] = [];
  private decisions: Decision[] = [];
  private candidate: { seq: number; taskId: string } | undefined;

  constructor(private readonly terms: JobTerms) {
    this.withinMs = terms.submitWithinMs;
  }

  /** Takes the next event. What the job does must be what it is to do now. `notedTask`: of a submit that has ended. */
  take(event: WorkflowEvent, notedTask?: string): void {
    this.event = event;
    if (this.mustAct && event.atMs > this.nowMs && event.kind !== 'run') {
      this.wrong(`it did nothing for ${event.atMs - this.nowMs} ms`);
    }
    this.nowMs = event.atMs;
    this.phase = this.after(event, notedTask);
  }

  private after(event: WorkflowEvent, notedTask: string | undefined): Phase {
    switch (event.kind) {
      case 'run':
        if (!event.continued) return this.start(event);
        this.expect('phase', this.phase.name, 'continued');
        return { name: 'to-poll' };
      case 'message':
        return this.receive(event);
      case 'cancel':
        return this.cancel();
      case 'activity':
        return this.schedule(event);
      case 'activity-end':
        return this.endActivity(event, notedTask);
      case 'timer':
        return this.startTimer(event);
      case 'continue':
        if (this.phase.name !== 'to-poll' || !this.terms.continues)
          this.wrong('it is not to continue as new');
        this.expect('task id in the memo', event.taskIdInMemo, this.taskId);
        return { name: 'continued' };
      case 'child':
        this.wrong('it is to have no children');
        return this.phase;
      case 'end':
        return this.end(event);
    }
  }

  /** Its last event, so far. */
  get endedAtMs(): number {
    return this.nowMs;
  }

  /** How often a person, or the policy after `submitWithin`, let the request be sent again. */
  get resubmits(): number {
    return this.repeats.length;
  }

  /** Whether an activity checks a task that somebody wants to adopt. */
  isCandidate(seq: number): boolean {
    return this.candidate?.seq === seq;
  }

  private get mustAct(): boolean {
    return this.phase.name.startsWith('to-') || (this.phase.name === 'sleeping' && this.isRequested);
  }

  private wrong(problem: string): void {
    this.problems.push(`${this.phase.name}, ${JSON.stringify(this.event)}: ${problem}`);
  }

  private expect<Value>(what: string, found: Value, expected: Value): void {
    if (found !== expected) this.wrong(`${what} is ${found}, not ${expected}`);
  }

  private start({ input }: EventOf<'run'>): Phase {
    this.input = input;
    this.startedAtMs = this.nowMs;
    return { name: this.terms.taskAtStart === undefined ? 'to-submit' : 'to-adopt-given' };
  }

  private adopted(task: SubmittedTask): Phase {
    this.isAdopted = true;
    return this.submitted(task);
  }

  private receive({ name, args }: EventOf<'message'>): Phase {
    if (name === 'pollNow') this.isRequested = true;
    if (name !== 'decideSubmit' || this.phase.name !== 'held') return this.phase;
    const decision = args[0] as Decision;
    const lateMs = this.nowMs - this.heldSinceMs - this.terms.holdForMs;
    // A hold lasts as long as a task is polled that somebody wants to adopt.
    const isPolling = this.decisions.length > 0;
    if (lateMs > LATE_DECISION_MS && !isPolling)
      this.problems.push(`a decision came ${lateMs} ms after the hold`);
    if (decision.lostSubmit !== undefined && decision.lostSubmit !== this.lostSubmit) return this.phase;
    this.decisions.push(decision);
    return this.decide();
  }

  /** Decisions are taken one at a time. One that adopts polls its task first. */
  private decide(): Phase {
    const [decision] = this.decisions;
    if (decision === undefined || this.candidate !== undefined) return this.phase;
    if (decision.decision === 'adopt') return { name: 'to-adopt-found' };
    this.endHold();
    if (decision.decision === 'abandon') return this.fail('SubmitUnconfirmed');
    this.repeats.push(this.lostSubmit);
    return { name: this.remainingMs() === 0 ? 'to-recall' : 'to-submit' };
  }

  private endHold(): void {
    this.heldMs += this.nowMs - this.heldSinceMs;
    for (const hold of this.holds.slice(-1)) hold.toMs = this.nowMs;
    this.decisions = [];
  }

  private cancel(): Phase {
    this.isCancelled = true;
    switch (this.phase.name) {
      case 'held':
      case 'to-hold':
      case 'to-adopt-found':
        return this.fail('SubmitUnconfirmed');
      case 'to-poll':
      case 'to-poll-regularly':
      case 'sleeping':
      case 'continued':
      case 'polling':
        return this.fail('Cancelled');
      case 'to-adopt-given':
      case 'to-submit':
      case 'to-download':
        return this.fail('Cancelled', { waits: false });
      default:
        return this.phase;
    }
  }

  private schedule(event: EventOf<'activity'>): Phase {
    const { type, seq, input, closeMs } = event;
    switch (`${this.phase.name} ${type}`) {
      case 'to-adopt-given adoptTask':
        this.expect('task', input.taskId, this.terms.taskAtStart);
        this.expect('scheduleToClose', closeMs, this.remainingMs());
        this.expect('poll', input.isPolled, undefined);
        return { name: 'adopting-given', seq };
      case 'to-submit submitVideo':
        this.expect('scheduleToClose', closeMs, this.remainingMs());
        this.expect('time of the service', input.withinMs, this.withinMs);
        this.expect(
          'repeats',
          JSON.stringify(input.repeats),
          this.repeats.length > 0 ? JSON.stringify(this.repeats) : undefined,
        );
        this.expect('service', input.service, this.terms.service);
        this.expect('seed', Object(input.request).seed, this.terms.seed);
        return { name: 'submitting', seq };
      case 'to-recall recallSubmit':
        this.expect('noted task', Object(input.note).taskId, undefined);
        return { name: 'recalling', seq };
      case 'to-end recallSubmit':
        // Whether the cancelled submit left something is for the comparison, which knows the attempts.
        if (!this.isCancelled) this.wrong('it is to end now');
        return { name: 'recalling', seq };
      case 'to-take-noted recallSubmit': {
        const taskId = this.phase.name === 'to-take-noted' ? this.phase.taskId : '';
        this.expect('noted task', Object(input.note).taskId, taskId);
        return { name: 'taking-noted', seq, taskId };
      }
      case 'to-adopt-found adoptTask': {
        const [decision] = this.decisions;
        const taskId = decision?.decision === 'adopt' ? decision.taskId : '';
        this.expect('task', input.taskId, taskId);
        this.expect('poll', input.isPolled, true);
        this.expect('scheduleToClose', closeMs, ADOPT_CLOSE_MS);
        this.candidate = { seq, taskId };
        return { name: 'held' };
      }
      case 'to-poll pollVideo':
        this.expect('pause', this.pauseMs(), 0);
        return this.poll(event);
      case 'to-poll-regularly pollVideo':
        return this.poll(event);
      case 'sleeping pollVideo': {
        const earlyMs = this.phase.name === 'sleeping' ? this.phase.untilMs - this.nowMs : 0;
        if (earlyMs > 0 && !this.isRequested) this.wrong(`it polled ${earlyMs} ms early`);
        this.isRequested = false;
        return this.poll(event);
      }
      case 'to-download downloadVideo':
        this.expect('task', input.taskId, this.taskId);
        this.expect('scheduleToClose', closeMs, Math.max(this.remainingMs(), LEAST_DOWNLOAD_CLOSE_MS));
        this.expect('startedAtMs', input.startedAtMs, this.startedAtMs);
        this.expect('record', input.record !== undefined, this.hasRecord);
        this.expect('seed', Object(input.expected).seed, this.terms.seed);
        return { name: 'downloading', seq };
      case 'to-cancel-at-service cancelVideo':
        this.expect('task', input.taskId, this.taskId);
        return { name: 'cancelling', seq };
      default:
        this.wrong('it is not to do this now');
        return this.phase;
    }
  }

  private poll(event: EventOf<'activity'>): Phase {
    this.expect('task', event.input.taskId, this.taskId);
    // The same poll once more is told the same.
    if (this.phase.name !== 'to-poll-regularly') this.asked = { ...this.waiting(), polledMs: this.polledMs };
    const { taskId: _, waitedMs, polledMs, progress, polling, kind, service } = event.input;
    const found = { waitedMs, polledMs, progress, polling, kind, service };
    const expected = { ...this.asked, service: this.terms.service };
    this.expect('what is known', canonical(found), canonical(expected));
    const isRegular = this.phase.name === 'to-poll-regularly' || this.remainingMs() === 0;
    this.expect('local', event.isLocal ?? false, !isRegular);
    this.polledLocally = event.isLocal ?? false;
    const regularMs = Math.max(this.remainingMs(), LEAST_POLL_CLOSE_MS);
    this.expect('scheduleToClose', event.closeMs, event.isLocal ? LOCAL_POLL_CLOSE_MS : regularMs);
    return { name: 'polling', seq: event.seq };
  }

  private startTimer(event: EventOf<'timer'>): Phase {
    switch (this.phase.name) {
      case 'to-hold':
        this.expect('hold', event.ms, this.terms.holdForMs);
        return { name: 'held' };
      case 'to-poll': {
        // The SDK has no timer below a millisecond.
        const pauseMs = Math.max(this.pauseMs(), 1);
        if (Math.abs(event.ms - pauseMs) > 0.001) this.wrong(`the pause is to be ${pauseMs} ms`);
        return { name: 'sleeping', untilMs: this.nowMs + event.ms };
      }
      default:
        this.wrong('it is not to sleep now');
        return this.phase;
    }
  }

  private endActivity(event: EventOf<'activity-end'>, notedTask: string | undefined): Phase {
    const { end, seq, type } = event;
    if (this.candidate?.seq === seq) return this.endCandidate(end, this.candidate.taskId);
    if ('seq' in this.phase) this.expect('activity', seq, this.phase.seq);
    switch (`${this.phase.name} ${type}`) {
      case 'adopting-given adoptTask':
        if ('result' in end) return this.adopted(Object(end.result));
        return this.fail(failureOf(end), this.isCancelled ? { or: 'Cancelled', waits: false } : {});
      case 'submitting submitVideo':
        return this.endSubmit(end, notedTask);
      case 'recalling recallSubmit':
        return this.endRecall(end);
      case 'taking-noted recallSubmit': {
        const taskId = this.phase.name === 'taking-noted' ? this.phase.taskId : '';
        return this.submitted({ nextPollMs: 0, taskId, ...taskIn(end) });
      }
      case 'polling pollVideo':
        return this.endPoll(end);
      case 'downloading downloadVideo':
        return this.endDownload(end);
      case 'cancelling cancelVideo':
        return { name: 'to-end', allowed: [{ failed: 'Cancelled' }] };
      default:
        // A cancelled activity may end after the job has given it up.
        if (!this.isCancelled) this.wrong('no such activity was running');
        return this.phase;
    }
  }

  /** A submit that could not return its task may have noted it, and then the job takes it from there. */
  private endSubmit(end: ActivityEnd, notedTask: string | undefined): Phase {
    if ('result' in end) return this.submitted(Object(end.result));
    const isGivenUp = end.failed === 'timeout' || end.failed === 'cancelled';
    if (notedTask !== undefined && isGivenUp) return { name: 'to-take-noted', taskId: notedTask };
    switch (end.failed) {
      case 'SubmitUnconfirmed':
        return this.lose(end.details?.lostSubmit);
      case 'timeout':
        return { name: 'to-recall' };
      case 'cancelled':
        // Whether an attempt was lost is for the comparison, which knows the attempts.
        return this.fail('Cancelled', { or: 'SubmitUnconfirmed' });
      default: {
        const type = failureOf(end);
        return this.fail(type, this.isCancelled ? { or: 'Cancelled' } : {});
      }
    }
  }

  private endRecall(end: ActivityEnd): Phase {
    const task = taskIn(end);
    if (task) return this.submitted(task);
    if ('failed' in end && end.failed === 'SubmitUnconfirmed') return this.lose(end.details?.lostSubmit);
    return this.fail(this.isCancelled ? 'Cancelled' : 'DeadlineExceeded');
  }

  private lose(lostSubmit: string | undefined): Phase {
    if (lostSubmit === undefined || this.repeats.includes(lostSubmit))
      this.problems.push(`a lost submit has the id ${lostSubmit}`);
    this.lostSubmit = lostSubmit;
    const { onLostSubmit = 'hold' } = this.terms;
    const hasTimeLeft = this.withinMs !== undefined && this.remainingMs() > 0;
    this.withinMs = undefined;
    if (onLostSubmit === 'resubmit' && hasTimeLeft && !this.isCancelled) {
      this.repeats.push(lostSubmit);
      return { name: 'to-submit' };
    }
    if (onLostSubmit !== 'hold' || this.isCancelled) return this.fail('SubmitUnconfirmed');
    this.heldSinceMs = this.nowMs;
    this.holds.push({ fromMs: this.nowMs, toMs: Infinity });
    return { name: 'to-hold' };
  }

  private submitted({ taskId, kind, nextPollMs, record, isStored }: SubmittedTask): Phase {
    this.taskId = taskId;
    this.submittedAtMs = this.nowMs;
    this.kind = kind;
    this.nextPollMs = nextPollMs;
    this.hasRecord = record !== undefined;
    if (isStored)
      return this.isCancelled ? this.fail('Cancelled', { waits: false }) : { name: 'to-download' };
    return this.isCancelled ? this.fail('Cancelled', { waits: true }) : { name: 'to-poll' };
  }

  /** What the activities are to know about the task. */
  private waiting(): WaitingTask & { waitedMs: number } {
    const { kind, progress } = this;
    return {
      waitedMs: this.nowMs - this.submittedAtMs,
      ...(kind !== undefined && { kind }),
      ...(progress && { progress }),
      ...(this.terms.polling && { polling: this.terms.polling }),
    };
  }

  private endCandidate(end: ActivityEnd, taskId: string): Phase {
    this.candidate = undefined;
    this.decisions.shift();
    if (this.phase.name !== 'held') return this.phase;
    if ('failed' in end) return this.decide();
    this.endHold();
    this.expectTask(taskId, Object(end.result).taskId);
    return this.adopted(Object(end.result));
  }

  private expectTask(expected: string, found: string): void {
    if (found !== expected) this.problems.push(`task ${found} was adopted, not ${expected}`);
  }

  private endPoll(end: ActivityEnd): Phase {
    if (this.polledLocally && 'failed' in end && isUnanswered(end)) return { name: 'to-poll-regularly' };
    this.polls += 1;
    const found = 'result' in end ? this.see(end.result as PolledTask) : this.miss(end);
    if (found === 'ready') {
      this.waitedMs = this.nowMs - this.submittedAtMs;
      return { name: 'to-download' };
    }
    if (found !== undefined) return this.fail(found);
    return this.remainingMs() === 0 ? this.fail('DeadlineExceeded') : { name: 'to-poll' };
  }

  private see(status: PolledTask): FailureType | 'ready' | undefined {
    this.wasSeen = true;
    this.polledMs = this.nowMs - this.submittedAtMs;
    this.failedPolls = 0;
    this.withoutVideo = status.state === 'succeeded' ? this.withoutVideo : 0;
    const { waitedMs = 0 } = this.asked;
    const percent = 'percent' in status ? status.percent : undefined;
    const hasRisen = percent !== undefined && percent > (this.progress?.percent ?? 0);
    if (hasRisen) this.progress = { percent, atMs: waitedMs };
    this.retryAfterMs = undefined;
    this.nextPollMs = status.nextPollMs;
    switch (status.state) {
      case 'succeeded':
        if (status.hasVideo) return 'ready';
        this.withoutVideo += 1;
        this.failedPolls = this.withoutVideo;
        return this.withoutVideo >= MOST_WITHOUT_VIDEO ? 'NoVideo' : undefined;
      case 'failed':
        return this.terms.taskEnds === 'refused' ? 'ContentRefused' : 'GenerationFailed';
      case 'cancelled':
        return 'GenerationCancelled';
      default:
        return undefined;
    }
  }

  private miss({ failed, details }: Extract<ActivityEnd, { failed: unknown }>): FailureType | undefined {
    this.failedPolls += 1;
    this.retryAfterMs = details?.retryAfter === undefined ? undefined : details.retryAfter * SECOND;
    this.withoutVideo = 0;
    return failed === 'TaskUnknown' && this.isAdopted && !this.wasSeen ? 'TaskUnknown' : undefined;
  }

  private endDownload(end: ActivityEnd): Phase {
    if ('result' in end) {
      const { taskId = '', polls, waitedMs } = this;
      const { seed } = this.terms;
      const { video, warnings } = Object(end.result);
      return { name: 'to-end', allowed: [{ succeeded: { taskId, polls, waitedMs, seed, video, warnings } }] };
    }
    return this.fail(failureOf(end), this.isCancelled ? { or: 'Cancelled' } : {});
  }

  /** The job fails. One that was cancelled while it waited for its task tells the service first. */
  private fail(failed: FailureType, { or, waits }: { or?: FailureType; waits?: boolean } = {}): Phase {
    const isWaiting =
      waits ?? ['to-poll', 'to-poll-regularly', 'sleeping', 'polling', 'continued'].includes(this.phase.name);
    return {
      name: failed === 'Cancelled' && isWaiting ? 'to-cancel-at-service' : 'to-end',
      allowed: [{ failed }, ...(or ? [{ failed: or }] : [])],
    };
  }

  private end(event: EventOf<'end'>): Phase {
    this.outcome = event.outcome;
    const found = describeOutcome(event.outcome);
    if (this.phase.name === 'held' && found === 'SubmitUnconfirmed') {
      const earlyMs = this.heldSinceMs + this.terms.holdForMs - this.nowMs;
      if (earlyMs > 0 || this.candidate) this.wrong(`the hold ended ${earlyMs} ms early`);
    } else if (this.phase.name !== 'to-end') {
      this.wrong('it is not to end now');
    } else {
      const allowed = this.phase.allowed.map(describeOutcome);
      if (!allowed.includes(found)) this.wrong(`allowed is ${allowed.join(' or ')}`);
    }
    if ('failed' in event.outcome && found !== 'Cancelled') {
      this.expect('task id in the failure', event.outcome.details?.taskId, this.taskId);
    }
    return { name: 'ended' };
  }

  private remainingMs(): number {
    return Math.max(0, this.startedAtMs + this.terms.deadlineMs + this.heldMs - this.nowMs);
  }

  /** The pause before the next poll: what the activities said, longer after failures, and as long as the service asks. */
  private pauseMs(): number {
    const { least, most } = FAILED_POLL_MS;
    const { nextPollMs, failedPolls, retryAfterMs = 0 } = this;
    const firstMs = Math.max(this.terms.polling?.min ?? 0, least);
    const doubledMs = Math.max(firstMs, Math.min(firstMs * 2 ** failedPolls, most));
    const wantedMs = failedPolls === 0 ? nextPollMs : doubledMs;
    const pauseMs = Math.max(wantedMs, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
    return Math.min(pauseMs, this.remainingMs());
  }
}

/** How a job fails whose activity ended so. */
function failureOf({ failed }: Extract<ActivityEnd, { failed: unknown }>): FailureType {
  switch (failed) {
    case 'timeout':
      return 'DeadlineExceeded';
    case 'cancelled':
      return 'Cancelled';
    case 'killed':
    case 'other':
      return 'Unexpected';
    default:
      return failed;
  }
}

/** The service has not said anything. */
function isUnanswered({ failed }: Extract<ActivityEnd, { failed: unknown }>): boolean {
  return ['timeout', 'killed', 'other', 'ServiceUnreachable'].includes(failed);
}

/** The same text for the same values, whatever the order of the keys. */
function canonical(value: object): string {
  return JSON.stringify(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .sort(([one], [other]) => one.localeCompare(other)),
  );
}

function taskIn(end: ActivityEnd): SubmittedTask | undefined {
  return 'result' in end ? Object(end.result).task : undefined;
}

function describeOutcome(outcome: Outcome): string {
  if ('failed' in outcome) return outcome.failed;
  const { taskId, polls, waitedMs, seed, video } = outcome.succeeded;
  return `succeeded with ${JSON.stringify({ taskId, polls, waitedMs, seed, sha256: video.sha256 })}`;
}
