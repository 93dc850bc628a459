import type { FailureType } from '../../src/contract/failure-table';
import type { Kill, ServiceScript, SharedOptions } from './random-script';
import type { Attempt } from './scripted-job';

/** What the model says about the end of one attempt: how it ends, and whether Temporal may try again. */
interface ExpectedEnd {
  end: FailureType | 'ok' | 'killed';
  isRetried: boolean;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The retries of each activity: the first pause, the longest one, and the number of attempts. */
const RETRIES: Record<string, { firstMs: number; longestMs: number; attempts: number }> = {
  submitVideo: { firstMs: 2 * SECOND, longestMs: MINUTE, attempts: Infinity },
  pollVideo: { firstMs: SECOND, longestMs: 30 * SECOND, attempts: 5 },
  // As the runner sets it.
  localPoll: { firstMs: 20, longestMs: 20, attempts: 2 },
  candidate: { firstMs: SECOND, longestMs: 100 * SECOND, attempts: 3 },
  adoptTask: { firstMs: SECOND, longestMs: 100 * SECOND, attempts: Infinity },
  downloadVideo: { firstMs: SECOND, longestMs: MINUTE, attempts: Infinity },
};
/** Failures of a download that are not tried again for ever. */
const DOWNLOAD_ATTEMPTS: Partial<Record<string, number>> = { VideoUnavailable: 8, VideoCorrupt: 5 };
/** A download gives up its attempt after this many connections that bring too little. */
const FRUITLESS_CONNECTIONS = 3;
/** What Retry-After may be at most and at least, and how much is added by chance. */
const RETRY_AFTER_MS = { least: SECOND, most: 10 * MINUTE, jitter: 1.1 };
/** Nothing is posted so close to the end of the activity. */
const POST_BEFORE_DEADLINE_MS = 500;
/** The server's clock advances while the machine works. */
const MACHINE_MS = 20 * SECOND;

const FINAL = (end: FailureType): ExpectedEnd => ({ end, isRetried: false });
const RETRIED = (end: FailureType): ExpectedEnd => ({ end, isRetried: true });
const OK: ExpectedEnd = { end: 'ok', isRetried: false };
const KILLED: ExpectedEnd = { end: 'killed', isRetried: true };

/** The ends that an answer leads to wherever it comes. */
const COMMON: Partial<Record<string, ExpectedEnd>> = {
  'rate-limited': RETRIED('RateLimited'),
  'server-error': RETRIED('ServiceFailed'),
  killed: KILLED,
};
const BY_POLL: Partial<Record<string, ExpectedEnd>> = {
  ...COMMON,
  reset: RETRIED('ServiceUnreachable'),
  'bad-json': RETRIED('AnswerUnreadable'),
  'refused 404': FINAL('TaskUnknown'),
  'refused 401': FINAL('Unauthorized'),
};
const BY_CONNECTION: Partial<Record<string, ExpectedEnd>> = {
  ...COMMON,
  'web-page': RETRIED('VideoCorrupt'),
  'link no-video': RETRIED('NoVideo'),
  'link not-found': RETRIED('TaskUnknown'),
  'link server-error': RETRIED('ServiceFailed'),
};
/** After these a download connects again at once. */
const RECONNECTED: Partial<Record<string, ExpectedEnd>> = {
  reset: RETRIED('ServiceUnreachable'),
  cut: RETRIED('ServiceUnreachable'),
  'refused 403': RETRIED('VideoUnavailable'),
};

/** An activity with its attempts, and how it ended for the workflow. */
export interface ObservedActivity {
  type: 'submitVideo' | 'pollVideo' | 'localPoll' | 'candidate' | 'adoptTask' | 'downloadVideo';
  closeMs: number;
  attempts: Attempt[];
  end: string;
  endedAtMs: number;
  /** Whether the job was cancelled before the activity ended. */
  wasCancelled: boolean;
  /** Whether the task that it adopts is that of another job. */
  isTaken: boolean;
  /** Whether somebody decided that what is lost is sent again. */
  repeats: boolean;
  /** How long a submit is tried again, if the service certainly made no task. */
  withinMs: number | undefined;
}

/** What is on record of a job, whichever run of its name left it there. */
export interface RecordModel {
  /** A request was sent, and nobody knows its answer or has decided to repeat it. */
  isOpen: boolean;
  /** The same, also if somebody has decided. */
  hasUnanswered: boolean;
  hasTask: boolean;
  keySent: boolean;
}

/** What the attempts of one submit know by their notes. */
interface NotesModel {
  /** The lost submit on record is to be repeated, and no attempt has written down that it does. */
  repeats: boolean;
  isLost: boolean;
  /** An attempt died before it wrote anything down: it counts as lost unless the record has a send that it may stand for. */
  diedSilently: boolean;
  hasTask: boolean;
  keySent: boolean;
}

/** What is set for the job, as far as its attempts depend on it. */
export type AttemptTerms = Pick<SharedOptions, 'onLostSubmit'> & Pick<ServiceScript, 'polls' | 'downloads'>;

/** Compares the attempts of one activity with what their answers must lead to. Returns what is wrong. */
export function checkAttempts(
  observed: ObservedActivity,
  terms: AttemptTerms,
  record: RecordModel,
): string[] {
  const { type, attempts, end, closeMs, endedAtMs, wasCancelled } = observed;
  const problems: string[] = [];
  const { repeats } = observed;
  const notes: NotesModel = {
    repeats,
    isLost: false,
    diedSilently: false,
    hasTask: false,
    keySent: repeats,
  };
  let expected: ExpectedEnd = OK;
  for (const [index, attempt] of attempts.entries()) {
    const which = `attempt ${attempt.number} of ${type}`;
    const isLast = index === attempts.length - 1;
    expected =
      type === 'submitVideo'
        ? endOfSubmit(attempt, observed, { terms, record, notes })
        : type === 'downloadVideo'
          ? endOfDownload(attempt, terms)
          : endOfPoll(attempt, observed);
    if (type === 'submitVideo') {
      if (attempt.answers.length > 1) problems.push(`${which} posted ${attempt.answers.length} times`);
      remember(attempt, expected, record, notes);
    }
    // An adoption writes its task down before it could be killed at its end.
    if (type === 'candidate' && (expected.end === 'ok' || isKilledAtEnd(attempt))) record.hasTask = true;
    // A cancelled attempt may end in any way that ends it.
    if (attempt.end === 'cancelled' && wasCancelled) continue;
    // On a busy machine a local poll may run out of time.
    if (isLast && type === 'localPoll' && end === 'timeout') return problems;
    if (attempt.end !== expected.end) {
      const { message } = attempt;
      const found = message === undefined ? attempt.end : `${attempt.end} (${message})`;
      problems.push(`${which} with ${describe(attempt)} ended as ${found}, not ${expected.end}`);
    }
    if (!isLast && !expected.isRetried) problems.push(`${which} with ${describe(attempt)} was tried again`);
    const next = attempts[index + 1];
    const { leastMs } = pauseMs(type, attempt);
    if (next && next.attemptAtMs - attempt.attemptAtMs < leastMs - 1) {
      problems.push(
        `after ${which} the pause was ${next.attemptAtMs - attempt.attemptAtMs} ms, not ${leastMs}`,
      );
    }
  }
  const last = attempts.at(-1);
  if (last === undefined || wasCancelled) return problems;
  if (end !== expected.end) {
    problems.push(`${type} ended as ${end} after ${describe(last)}, not ${expected.end}`);
  }
  if (expected.isRetried && last.number < mostAttempts(type, expected.end)) {
    if (type === 'localPoll') problems.push(`a local poll was given up after ${describe(last)}`);
    const { mostMs } = pauseMs(type, last);
    const endsAtMs = last.scheduledAtMs + Math.min(closeMs, observed.withinMs ?? Infinity);
    if (endedAtMs + mostMs + MACHINE_MS < endsAtMs) {
      problems.push(
        `${type} was given up after ${describe(last)}, ${endsAtMs - endedAtMs} ms before its end`,
      );
    }
  }
  return problems;
}

function isKilledAtEnd({ answers: [answer] }: Attempt): boolean {
  return answer?.kind === 'killed' && answer.at === 'end';
}

interface Before {
  terms: AttemptTerms;
  record: RecordModel;
  notes: NotesModel;
}

/** A submit is sent only if no earlier one may have made a task, or if `resubmit` is the policy. */
function endOfSubmit(attempt: Attempt, { closeMs }: ObservedActivity, before: Before): ExpectedEnd {
  const { terms, record, notes } = before;
  const mayResubmit = terms.onLostSubmit === 'resubmit';
  const unconfirmed = { end: 'SubmitUnconfirmed', isRetried: mayResubmit } as const;
  const [answer] = attempt.answers;
  if (answer?.kind === 'killed' && answer.at === 'start') return KILLED;
  if (record.hasTask || notes.hasTask) return answer === undefined ? OK : FINAL('Unexpected');
  const isOpen = record.isOpen && !notes.repeats;
  // Another run may be sending at this moment, and is left a few seconds. By policy, several sends may be lost: one is repeated.
  const mayBeSending = isOpen || (record.isOpen && mayResubmit);
  const leavesTime = mayBeSending && answer === undefined && attempt.number === 1;
  if (leavesTime && attempt.end === 'ServiceUnreachable') return RETRIED('ServiceUnreachable');
  const isLost = notes.isLost || (notes.diedSilently && !record.hasUnanswered);
  if ((isOpen || isLost) && !mayResubmit)
    return answer === undefined ? FINAL('SubmitUnconfirmed') : FINAL('Unexpected');
  switch (answer?.kind) {
    case undefined: {
      const leftMs = attempt.scheduledAtMs + closeMs - attempt.attemptAtMs;
      if (attempt.end === 'DeadlineExceeded' && leftMs < POST_BEFORE_DEADLINE_MS + MACHINE_MS) {
        return FINAL('DeadlineExceeded');
      }
      // The rate limiter lets nothing through.
      return RETRIED('RateLimited');
    }
    case 'lost':
      return unconfirmed;
    case 'refused': {
      if (answer.status === 401 || answer.status === 402) return FINAL('Unauthorized');
      const isKnownKey = record.keySent || notes.keySent;
      return answer.status === 422 && isKnownKey ? unconfirmed : FINAL('InvalidRequest');
    }
    default:
      return COMMON[answer?.kind ?? ''] ?? OK;
  }
}

/** What an attempt leaves on record and in its notes. */
function remember(
  { answers: [answer] }: Attempt,
  { end }: ExpectedEnd,
  record: RecordModel,
  notes: NotesModel,
): void {
  // Also the task of a note that it takes up.
  record.hasTask ||= end === 'ok';
  if (answer === undefined) return;
  const isKilled = answer.kind === 'killed';
  const isAnnounced = !(isKilled && answer.at === 'start');
  const isUnanswered = end === 'SubmitUnconfirmed' || (isKilled && answer.at !== 'after-record');
  record.hasTask ||= isKilled && answer.at === 'after-record';
  if (isAnnounced) {
    record.hasUnanswered ||= isUnanswered;
    record.isOpen = (record.isOpen && !notes.repeats) || isUnanswered;
    notes.repeats = false;
  }
  record.keySent ||= isAnnounced;
  notes.hasTask ||= isKilled && isRemembered(answer);
  notes.isLost ||= isUnanswered && isAnnounced;
  notes.diedSilently ||= !isAnnounced;
  notes.keySent = true;
}

/** The task is in the job's record, or in the note of the attempt that died. */
function isRemembered({ at, heartbeats }: Kill<string>): boolean {
  return at === 'after-record' || (at === 'before-record' && heartbeats === 'kept');
}

/**
 * A local poll does not wait for Retry-After: the job does, on its timer. A task that is adopted is polled first, unless the job
 * was started for it.
 */
function endOfPoll(
  { answers: [answer], retryAfterMs }: Attempt,
  { type, isTaken }: ObservedActivity,
): ExpectedEnd {
  if (type === 'adoptTask') return isTaken ? FINAL('InvalidRequest') : OK;
  const { end, isRetried } = answer === undefined ? RETRIED('RateLimited') : (BY_POLL[keyOf(answer)] ?? OK);
  if (end === 'ok' && isTaken) return FINAL('InvalidRequest');
  return { end, isRetried: isRetried && !(type === 'localPoll' && retryAfterMs !== undefined) };
}

function endOfDownload({ answers, end }: Attempt, { polls, downloads }: AttemptTerms): ExpectedEnd {
  let fruitless = 0;
  for (const answer of answers) {
    const again = RECONNECTED[keyOf(answer)];
    if (again === undefined) return BY_CONNECTION[keyOf(answer)] ?? OK;
    fruitless += 1;
    if (fruitless === FRUITLESS_CONNECTIONS) return again;
  }
  if (answers.length > 0) return RETRIED('RateLimited');
  // Nothing is asked for while the rate limiter pauses, nor for a video that is found in the storage.
  const mayPause = [...polls, ...downloads].some(({ kind }) => kind === 'rate-limited');
  return mayPause && end === 'RateLimited' ? RETRIED('RateLimited') : OK;
}

function keyOf(answer: Attempt['answers'][number]): string {
  if (answer.kind === 'refused') return `${answer.kind} ${answer.status}`;
  return answer.kind === 'link' ? `${answer.kind} ${answer.fault}` : answer.kind;
}

function mostAttempts(type: ObservedActivity['type'], end: string): number {
  const most = RETRIES[type]?.attempts ?? 1;
  return type === 'downloadVideo' ? (DOWNLOAD_ATTEMPTS[end] ?? most) : most;
}

/** The pause after an attempt: Retry-After, or twice the pause before. */
function pauseMs(type: ObservedActivity['type'], { retryAfterMs, number }: Attempt) {
  if (retryAfterMs !== undefined) {
    const { least, most, jitter } = RETRY_AFTER_MS;
    const askedMs = Math.min(Math.max(retryAfterMs, least), most);
    return { leastMs: askedMs, mostMs: askedMs * jitter };
  }
  const { firstMs = 0, longestMs = 0 } = RETRIES[type] ?? {};
  const ms = Math.min(firstMs * 2 ** (number - 1), longestMs);
  return { leastMs: ms, mostMs: ms };
}

function describe({ answers }: Attempt): string {
  return JSON.stringify(answers);
}
