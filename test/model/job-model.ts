import type { SubmittedTask } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import type { TaskStatus } from '../../src/contract/job';
import {
  type EndedTask,
  type ReportedProgress,
  type UsualTimes,
  usualTimesOf,
} from '../../src/contract/usual-times';
import { nextPollDelayMs } from '../../workflows/poll-schedule';
import type { ActivityEnd, Note, Outcome } from './notes';
import type { Script } from './script';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DEFAULT_POLLING = { min: 3 * SECOND, max: 2 * MINUTE };
const LEAST_POLLING_MS = SECOND;
const POLLS_PER_SECOND_SAVED = 4;
const HELD_UP_MS = 10 * SECOND;
/** A new task may be unknown to its service for so long. */
const UNKNOWN_GRACE_MS = 2 * MINUTE;
/** So many polls in a row without the task, or in total without the video, are too many. */
const MOST_MISSES = 3;
const LEAST_POLL_CLOSE_MS = MINUTE;
/** As long as the theatre makes it. */
const LOCAL_POLL_CLOSE_MS = 1.5 * SECOND;
/** After a poll that took longer, the next one is no local activity. */
const QUICK_POLL_MS = SECOND;
const LEAST_DOWNLOAD_CLOSE_MS = 10 * MINUTE;
/** A decision may still be taken so late: it and the end of the hold reach the workflow together. */
const LATE_DECISION_MS = 20 * SECOND;

type NoteOf<Kind extends Note['kind']> = Extract<Note, { kind: Kind }>;
type Decision = { decision: 'resubmit' | 'abandon' } | { decision: 'adopt'; taskId: string };

/** What the job is to do now (`to-…`), or waits for. */
type Phase =
  | {
      name:
        | 'not-started'
        | 'to-submit'
        | 'to-recall'
        | 'to-poll'
        | 'to-poll-regularly'
        | 'continued'
        | 'to-download'
        | 'ended';
    }
  | { name: 'to-hold' | 'held' | 'to-poll-candidate' | 'to-adopt' }
  | { name: 'to-take-noted'; taskId: string }
  | { name: 'taking-noted'; seq: number; taskId: string }
  | { name: 'submitting' | 'recalling' | 'adopting' | 'polling' | 'downloading' | 'cancelling'; seq: number }
  | { name: 'sleeping'; untilMs: number }
  | { name: 'to-cancel-at-service' | 'to-end'; allowed: Outcome[] };

/**
 * What a job must do, told as one walk through what happened to it. It knows the script and reads no clock: how long
 * the service and the machine took is in the notes, and all else follows to the millisecond.
 */
export class JobModel {
  readonly problems: string[] = [];
  polls = 0;
  taskId: string | undefined;
  isCancelled = false;
  /** How often a person let the request be sent again. */
  resubmits = 0;
  outcome: Outcome | undefined;
  private phase: Phase = { name: 'not-started' };
  private nowMs = 0;
  private startedAtMs = 0;
  private submittedAtMs = 0;
  private waitedMs = 0;
  private heldMs = 0;
  private heldSinceMs = 0;
  private hasRecord = false;
  private isAdopted = false;
  private wasSeen = false;
  private progress: ReportedProgress | undefined;
  private usualTimes: UsualTimes | undefined;
  /** Of a task that the submit has just made. */
  private kind: string | undefined;
  private polledMs = { last: 0, before: 0 };
  private plannedMs = 0;
  private retryAfterMs: number | undefined;
  private failedPolls = 0;
  private pollIsLocal = true;
  private polledLocally = false;
  private polledAtMs = 0;
  private misses = { task: 0, video: 0 };
  private knowsService = false;
  private isRequested = false;
  private decisions: Decision[] = [];
  private candidate: { seq: number; taskId: string } | undefined;

  constructor(
    private readonly script: Script,
    /** The seed of the request, which the result repeats. */
    private readonly seed: number | undefined,
    /** The task that the job was started to adopt. */
    private readonly taskAtStart: string | undefined,
  ) {}

  /** Takes the next note. What the job does must be what it is to do now. `notedTask`: of a submit that has ended. */
  take(note: Note, notedTask?: string): void {
    if (this.mustAct && note.atMs > this.nowMs && note.kind !== 'run') {
      this.wrong(note, `it did nothing for ${note.atMs - this.nowMs} ms`);
    }
    this.nowMs = note.atMs;
    this.phase = this.after(note, notedTask);
  }

  private after(note: Note, notedTask: string | undefined): Phase {
    switch (note.kind) {
      case 'run':
        return note.continued ? this.startAgain(note) : this.start();
      case 'signal':
        return this.receive(note);
      case 'cancel':
        return this.cancel();
      case 'activity':
        return this.schedule(note);
      case 'activity-end':
        return this.endActivity(note, notedTask);
      case 'timer':
        return this.startTimer(note);
      case 'continue':
        if (this.phase.name !== 'to-poll' || !this.script.continues)
          this.wrong(note, 'it is not to continue as new');
        this.expect(note, 'task id in the memo', note.taskIdInMemo, this.taskId);
        this.progress = this.kind = undefined;
        return { name: 'continued' };
      case 'end':
        return this.end(note);
    }
  }

  /** Whether an activity polls a task that somebody wants to adopt. */
  isCandidate(seq: number): boolean {
    return this.candidate?.seq === seq;
  }

  private get mustAct(): boolean {
    return this.phase.name.startsWith('to-') || (this.phase.name === 'sleeping' && this.isRequested);
  }

  private wrong(note: Note, problem: string): void {
    this.problems.push(`${this.phase.name}, ${JSON.stringify(note)}: ${problem}`);
  }

  private expect<Value>(note: Note, what: string, found: Value, expected: Value): void {
    if (found !== expected) this.wrong(note, `${what} is ${found}, not ${expected}`);
  }

  private start(): Phase {
    this.startedAtMs = this.nowMs;
    if (this.taskAtStart === undefined) return { name: 'to-submit' };
    this.adopt(this.taskAtStart);
    return { name: 'to-poll' };
  }

  private startAgain(note: NoteOf<'run'>): Phase {
    this.expect(note, 'phase', this.phase.name, 'continued');
    this.pollIsLocal = true;
    return { name: 'to-poll' };
  }

  private adopt(taskId: string): void {
    this.isAdopted = true;
    this.taskId = taskId;
    this.submittedAtMs = this.nowMs;
  }

  private receive({ name, args }: NoteOf<'signal'>): Phase {
    if (name === 'pollNow') this.isRequested = true;
    if (name !== 'decideSubmit' || this.phase.name !== 'held') return this.phase;
    const lateMs = this.nowMs - this.heldSinceMs - this.script.holdForMs;
    // A hold lasts as long as a task is polled that somebody wants to adopt.
    const isPolling = this.decisions.length > 0;
    if (lateMs > LATE_DECISION_MS && !isPolling)
      this.problems.push(`a decision came ${lateMs} ms after the hold`);
    this.decisions.push(args[0] as Decision);
    return this.decide();
  }

  /** Decisions are taken one at a time. One that adopts polls its task first. */
  private decide(): Phase {
    const [decision] = this.decisions;
    if (decision === undefined || this.candidate !== undefined) return this.phase;
    if (decision.decision === 'adopt') return { name: 'to-poll-candidate' };
    this.endHold();
    if (decision.decision === 'abandon') return this.fail('SubmitUnconfirmed');
    this.resubmits += 1;
    return { name: this.remainingMs() === 0 ? 'to-recall' : 'to-submit' };
  }

  private endHold(): void {
    this.heldMs += this.nowMs - this.heldSinceMs;
    this.decisions = [];
  }

  private cancel(): Phase {
    this.isCancelled = true;
    switch (this.phase.name) {
      case 'held':
      case 'to-hold':
      case 'to-poll-candidate':
        return this.fail('SubmitUnconfirmed');
      case 'to-poll':
      case 'to-poll-regularly':
      case 'sleeping':
      case 'continued':
      case 'polling':
        return this.fail('Cancelled');
      case 'to-submit':
      case 'to-download':
        return this.fail('Cancelled', { waits: false });
      default:
        return this.phase;
    }
  }

  private schedule(note: NoteOf<'activity'>): Phase {
    const { type, seq, input, closeMs } = note;
    switch (`${this.phase.name} ${type}`) {
      case 'to-submit submitVideo':
        this.expect(note, 'scheduleToClose', closeMs, this.remainingMs());
        this.expect(note, 'resubmits', input.resubmits, this.resubmits > 0);
        return { name: 'submitting', seq };
      case 'to-recall recallSubmit':
        this.expect(note, 'adopts', input.adopts, undefined);
        return { name: 'recalling', seq };
      case 'to-take-noted recallSubmit': {
        const taskId = this.phase.name === 'to-take-noted' ? this.phase.taskId : '';
        this.expect(note, 'adopts', input.adopts, taskId);
        return { name: 'taking-noted', seq, taskId };
      }
      case 'to-adopt recallSubmit':
        this.expect(note, 'adopts', input.adopts, this.taskId);
        return { name: 'adopting', seq };
      case 'to-poll-candidate pollVideo': {
        const [decision] = this.decisions;
        const taskId = decision?.decision === 'adopt' ? decision.taskId : '';
        this.expect(note, 'task', input.taskId, taskId);
        this.candidate = { seq, taskId };
        return { name: 'held' };
      }
      case 'to-poll pollVideo':
        this.expect(note, 'pause', this.pauseMs(), 0);
        return this.poll(note);
      case 'to-poll-regularly pollVideo':
        return this.poll(note);
      case 'sleeping pollVideo': {
        const earlyMs = this.phase.name === 'sleeping' ? this.phase.untilMs - this.nowMs : 0;
        if (earlyMs > 0 && !this.isRequested) this.wrong(note, `it polled ${earlyMs} ms early`);
        this.isRequested = false;
        return this.poll(note);
      }
      case 'to-download downloadVideo':
        this.expect(note, 'task', input.taskId, this.taskId);
        this.expect(note, 'scheduleToClose', closeMs, Math.max(this.remainingMs(), LEAST_DOWNLOAD_CLOSE_MS));
        this.expect(note, 'startedAtMs', input.startedAtMs, this.startedAtMs);
        this.expect(note, 'record', input.record !== undefined, this.hasRecord);
        this.expect(note, 'end', JSON.stringify(input.ended), JSON.stringify(this.ended()));
        this.expect(note, 'seed', Object(input.expected).seed, this.seed);
        return { name: 'downloading', seq };
      case 'to-cancel-at-service cancelVideo':
        this.expect(note, 'task', input.taskId, this.taskId);
        return { name: 'cancelling', seq };
      default:
        this.wrong(note, 'it is not to do this now');
        return this.phase;
    }
  }

  private poll(note: NoteOf<'activity'>): Phase {
    this.expect(note, 'task', note.input.taskId, this.taskId);
    this.expect(note, 'local', note.isLocal ?? false, this.pollIsLocal && this.remainingMs() > 0);
    this.polledLocally = note.isLocal ?? false;
    const regularMs = Math.max(this.remainingMs(), LEAST_POLL_CLOSE_MS);
    this.expect(note, 'scheduleToClose', note.closeMs, note.isLocal ? LOCAL_POLL_CLOSE_MS : regularMs);
    this.polledAtMs = this.nowMs;
    return { name: 'polling', seq: note.seq };
  }

  private startTimer(note: NoteOf<'timer'>): Phase {
    switch (this.phase.name) {
      case 'to-hold':
        this.expect(note, 'hold', note.ms, this.script.holdForMs);
        return { name: 'held' };
      case 'to-poll': {
        // The SDK has no timer below a millisecond.
        const pauseMs = Math.max(this.pauseMs(), 1);
        if (Math.abs(note.ms - pauseMs) > 0.001) this.wrong(note, `the pause is to be ${pauseMs} ms`);
        this.plannedMs = pauseMs;
        return { name: 'sleeping', untilMs: this.nowMs + note.ms };
      }
      default:
        this.wrong(note, 'it is not to sleep now');
        return this.phase;
    }
  }

  private endActivity(note: NoteOf<'activity-end'>, notedTask: string | undefined): Phase {
    const { end, seq, type } = note;
    if (this.candidate?.seq === seq) return this.endCandidate(end, this.candidate.taskId);
    if ('seq' in this.phase) this.expect(note, 'activity', seq, this.phase.seq);
    switch (`${this.phase.name} ${type}`) {
      case 'submitting submitVideo':
        return this.endSubmit(end, notedTask);
      case 'recalling recallSubmit':
        return this.endRecall(end);
      case 'taking-noted recallSubmit':
        return this.submitted(
          { taskId: this.phase.name === 'taking-noted' ? this.phase.taskId : '', ...taskIn(end) },
          'result' in end,
        );
      case 'adopting recallSubmit':
        this.hasRecord = this.knowsService = 'result' in end;
        this.usualTimes = taskIn(end)?.usualTimes;
        return this.isCancelled ? this.fail('Cancelled', { waits: true }) : { name: 'to-poll' };
      case 'polling pollVideo':
        return this.endPoll(end);
      case 'downloading downloadVideo':
        return this.endDownload(end);
      case 'cancelling cancelVideo':
        return { name: 'to-end', allowed: [{ failed: 'Cancelled' }] };
      default:
        // A cancelled activity may end after the job has given it up.
        if (!this.isCancelled) this.wrong(note, 'no such activity was running');
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
        return this.lose();
      case 'timeout':
        return { name: 'to-recall' };
      case 'cancelled':
        // Whether an attempt was lost is for the comparison, which knows the attempts.
        return this.fail('Cancelled', { or: 'SubmitUnconfirmed' });
      case 'killed':
      case 'other':
        return this.fail('Unexpected');
      default:
        return this.fail(end.failed, this.isCancelled ? { or: 'Cancelled' } : {});
    }
  }

  private endRecall(end: ActivityEnd): Phase {
    const { madeNoTask }: { madeNoTask?: boolean } = 'result' in end ? Object(end.result) : {};
    const task = taskIn(end);
    if (task) return this.submitted(task);
    const isTooLate = this.resubmits > 0 && this.remainingMs() === 0;
    return madeNoTask || isTooLate ? this.fail('DeadlineExceeded') : this.lose();
  }

  private lose(): Phase {
    const { onLostSubmit = 'hold' } = this.script;
    if (onLostSubmit !== 'hold' || this.isCancelled) return this.fail('SubmitUnconfirmed');
    this.heldSinceMs = this.nowMs;
    return { name: 'to-hold' };
  }

  private submitted({ taskId, usualTimes, kind }: SubmittedTask, isRecorded = true): Phase {
    this.taskId = taskId;
    this.usualTimes = usualTimes;
    this.kind = kind;
    this.submittedAtMs = this.nowMs;
    this.hasRecord = this.knowsService = isRecorded;
    return this.isCancelled ? this.fail('Cancelled', { waits: true }) : { name: 'to-poll' };
  }

  private endCandidate(end: ActivityEnd, taskId: string): Phase {
    this.candidate = undefined;
    this.decisions.shift();
    if (this.phase.name !== 'held') return this.phase;
    if ('failed' in end) return this.decide();
    this.endHold();
    this.adopt(taskId);
    return { name: 'to-adopt' };
  }

  private endPoll(end: ActivityEnd): Phase {
    if (this.polledLocally && 'failed' in end && end.failed === 'timeout') {
      this.pollIsLocal = false;
      return { name: 'to-poll-regularly' };
    }
    this.pollIsLocal = this.nowMs - this.polledAtMs <= QUICK_POLL_MS;
    this.polls += 1;
    const found = 'result' in end ? this.see(end.result as TaskStatus) : this.miss(end);
    if (found === 'ready') {
      this.waitedMs = this.nowMs - this.submittedAtMs;
      return { name: 'to-download' };
    }
    if (found !== undefined) return this.fail(found);
    return this.remainingMs() === 0 ? this.fail('DeadlineExceeded') : { name: 'to-poll' };
  }

  private see(status: TaskStatus): FailureType | 'ready' | undefined {
    this.wasSeen = this.knowsService = true;
    this.polledMs = { last: this.nowMs - this.submittedAtMs, before: this.polledMs.last };
    this.failedPolls = this.misses.task = 0;
    const percent = 'percent' in status ? status.percent : undefined;
    if (percent !== undefined && percent > (this.progress?.percent ?? 0))
      this.progress = { percent, atMs: this.nowMs - this.submittedAtMs };
    this.retryAfterMs = 'retryAfterMs' in status ? status.retryAfterMs : undefined;
    switch (status.state) {
      case 'succeeded':
        if (status.hasVideo) return 'ready';
        this.misses.video += 1;
        return this.misses.video >= MOST_MISSES ? 'NoVideo' : undefined;
      case 'failed':
        return this.script.taskEnds === 'refused' ? 'ContentRefused' : 'GenerationFailed';
      case 'cancelled':
        return 'GenerationCancelled';
      default:
        return undefined;
    }
  }

  private miss({ failed, details }: Extract<ActivityEnd, { failed: unknown }>): FailureType | undefined {
    this.failedPolls += 1;
    this.retryAfterMs = details?.retryAfter === undefined ? undefined : details.retryAfter * SECOND;
    this.misses.task = failed === 'TaskUnknown' ? this.misses.task + 1 : 0;
    if (failed !== 'TaskUnknown') return undefined;
    const neverExisted = this.isAdopted && !this.wasSeen;
    const isGone = this.misses.task >= MOST_MISSES && this.nowMs - this.submittedAtMs > UNKNOWN_GRACE_MS;
    return neverExisted || isGone ? 'TaskUnknown' : undefined;
  }

  private endDownload(end: ActivityEnd): Phase {
    if ('result' in end) {
      const { taskId = '', polls, waitedMs, seed } = this;
      const { video, warnings } = Object(end.result);
      return { name: 'to-end', allowed: [{ succeeded: { taskId, polls, waitedMs, seed, video, warnings } }] };
    }
    if (end.failed === 'timeout') return this.fail('DeadlineExceeded');
    if (end.failed === 'killed' || end.failed === 'other') return this.fail('Unexpected');
    if (end.failed === 'cancelled') return this.fail('Cancelled');
    return this.fail(end.failed, this.isCancelled ? { or: 'Cancelled' } : {});
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

  private end(note: NoteOf<'end'>): Phase {
    this.outcome = note.outcome;
    const found = describeOutcome(note.outcome);
    if (this.phase.name === 'held' && found === 'SubmitUnconfirmed') {
      const earlyMs = this.heldSinceMs + this.script.holdForMs - this.nowMs;
      if (earlyMs > 0 || this.candidate) this.wrong(note, `the hold ended ${earlyMs} ms early`);
    } else if (this.phase.name !== 'to-end') {
      this.wrong(note, 'it is not to end now');
    } else {
      const allowed = this.phase.allowed.map(describeOutcome);
      if (!allowed.includes(found)) this.wrong(note, `allowed is ${allowed.join(' or ')}`);
    }
    if ('failed' in note.outcome && found !== 'Cancelled') {
      this.expect(note, 'task id in the failure', note.outcome.details?.taskId, this.taskId);
    }
    return { name: 'ended' };
  }

  /** What the worker is to learn from the task; nothing from one whose last poll came much too late. */
  private ended(): EndedTask | undefined {
    const { last: byMs, before: afterMs } = this.polledMs;
    if (this.kind === undefined || byMs - afterMs > 2 * this.plannedMs + HELD_UP_MS) return undefined;
    return { kind: this.kind, afterMs, byMs };
  }

  private remainingMs(): number {
    return Math.max(0, this.startedAtMs + this.script.deadlineMs + this.heldMs - this.nowMs);
  }

  /** The pause before the next poll: the schedule is a pure function, tested by itself; the model knows what it is given. */
  private pauseMs(): number {
    if (this.isAdopted && this.polls === 0) return 0;
    const { polling, servicePolling } = this.script;
    const bounds = { ...DEFAULT_POLLING, ...(this.knowsService && servicePolling), ...polling };
    const min = Math.max(bounds.min, LEAST_POLLING_MS);
    return nextPollDelayMs({
      elapsedMs: this.nowMs - this.submittedAtMs,
      remainingMs: this.remainingMs(),
      usualTimes: this.usualTimes ?? usualTimesOf(),
      progress: this.progress,
      retryAfterMs: this.retryAfterMs,
      failedPolls: this.failedPolls,
      min,
      max: Math.max(min, bounds.max),
      pollsPerSecondSaved: POLLS_PER_SECOND_SAVED,
    });
  }
}

function taskIn(end: ActivityEnd): SubmittedTask | undefined {
  return 'result' in end ? Object(end.result).task : undefined;
}

function describeOutcome(outcome: Outcome): string {
  if ('failed' in outcome) return outcome.failed;
  const { taskId, polls, waitedMs, seed, video } = outcome.succeeded;
  return `succeeded with ${JSON.stringify({ taskId, polls, waitedMs, seed, sha256: video.sha256 })}`;
}
