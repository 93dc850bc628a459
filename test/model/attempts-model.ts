import type { FailureType } from '../../src/contract/failure-table';
import type { Kill, Script } from './script';
import type { Attempt } from './stage';

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
  // As long as the theatre makes it.
  localPoll: { firstMs: 20, longestMs: 20, attempts: 2 },
  candidate: { firstMs: SECOND, longestMs: 100 * SECOND, attempts: 3 },
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
/** The server's clock goes on while the machine works. */
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
export interface PlayedActivity {
  type: 'submitVideo' | 'pollVideo' | 'localPoll' | 'candidate' | 'downloadVideo';
  closeMs: number;
  attempts: Attempt[];
  end: string;
  endedAtMs: number;
  /** Whether the job was cancelled before the activity ended. */
  wasCancelled: boolean;
}

/** What the submits of a job have left so far: whether the service may know the key. */
export interface SubmitMemory {
  keyMayBeKnown: boolean;
  resubmits: boolean;
}

/** Compares the attempts of one activity with what their answers must lead to. Returns what is wrong. */
export function checkAttempts(played: PlayedActivity, script: Script, memory: SubmitMemory): string[] {
  const { type, attempts, end, closeMs, endedAtMs, wasCancelled } = played;
  const problems: string[] = [];
  let lost = false;
  let known = false;
  let expected: ExpectedEnd = OK;
  for (const [index, attempt] of attempts.entries()) {
    const which = `attempt ${attempt.number} of ${type}`;
    const isLast = index === attempts.length - 1;
    expected =
      type === 'submitVideo'
        ? endOfSubmit(attempt, played, { script, memory, lost, known })
        : type === 'downloadVideo'
          ? endOfDownload(attempt, script)
          : endOfPoll(attempt, type);
    // A cancelled attempt may end in any way that ends it.
    if (attempt.end === 'cancelled' && wasCancelled) continue;
    // On a busy machine a local poll may run out of time.
    if (isLast && type === 'localPoll' && end === 'timeout') return problems;
    if (attempt.end !== expected.end) {
      problems.push(`${which} with ${describe(attempt)} ended as ${attempt.end}, not ${expected.end}`);
    }
    if (!isLast && !expected.isRetried) problems.push(`${which} with ${describe(attempt)} was tried again`);
    const next = attempts[index + 1];
    const { leastMs } = pauseMs(type, attempt);
    if (next && next.attemptAtMs - attempt.attemptAtMs < leastMs - 1) {
      problems.push(
        `after ${which} the pause was ${next.attemptAtMs - attempt.attemptAtMs} ms, not ${leastMs}`,
      );
    }
    if (type === 'submitVideo') {
      if (attempt.answers.length > 1) problems.push(`${which} posted ${attempt.answers.length} times`);
      memory.keyMayBeKnown ||= attempt.answers.length > 0;
      lost ||= isLost(attempt, expected);
      known ||= isKnown(attempt);
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
    const endsAtMs = last.scheduledAtMs + closeMs;
    if (endedAtMs + mostMs + MACHINE_MS < endsAtMs) {
      problems.push(
        `${type} was given up after ${describe(last)}, ${endsAtMs - endedAtMs} ms before its end`,
      );
    }
  }
  return problems;
}

interface Before {
  script: Script;
  memory: SubmitMemory;
  /** An earlier attempt may have made a task, and nobody knows which. */
  lost: boolean;
  /** An earlier attempt noted its task. */
  known: boolean;
}

/** A submit is sent only if no earlier one may have made a task, or if `resubmit` is the policy. */
function endOfSubmit(attempt: Attempt, { closeMs }: PlayedActivity, before: Before): ExpectedEnd {
  const { script, memory, lost, known } = before;
  const mayResubmit = script.onLostSubmit === 'resubmit';
  const unconfirmed = { end: 'SubmitUnconfirmed', isRetried: mayResubmit } as const;
  const [answer] = attempt.answers;
  if (answer?.kind === 'killed' && answer.at === 'start') return KILLED;
  if (known) return answer === undefined ? OK : FINAL('Unexpected');
  if (lost && !mayResubmit) return answer === undefined ? FINAL('SubmitUnconfirmed') : FINAL('Unexpected');
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
      const isKnownKey = memory.keyMayBeKnown || memory.resubmits;
      return answer.status === 422 && isKnownKey ? unconfirmed : FINAL('InvalidRequest');
    }
    default:
      return COMMON[answer?.kind ?? ''] ?? OK;
  }
}

function isLost({ answers: [answer] }: Attempt, { end }: ExpectedEnd): boolean {
  return end === 'SubmitUnconfirmed' || (answer?.kind === 'killed' && !isRemembered(answer));
}

function isKnown({ answers: [answer] }: Attempt): boolean {
  return answer?.kind === 'killed' && isRemembered(answer);
}

/** The task is in the job's record, or in the note of the attempt that died. */
function isRemembered({ at, notes }: Kill<string>): boolean {
  return at === 'after-record' || (at === 'before-record' && notes === 'kept');
}

/** A local poll does not wait for Retry-After: the job does, on its timer. */
function endOfPoll({ answers: [answer], retryAfterMs }: Attempt, type: string): ExpectedEnd {
  const { end, isRetried } = answer === undefined ? RETRIED('RateLimited') : (BY_POLL[keyOf(answer)] ?? OK);
  return { end, isRetried: isRetried && !(type === 'localPoll' && retryAfterMs !== undefined) };
}

function endOfDownload({ answers, end }: Attempt, { polls, downloads }: Script): ExpectedEnd {
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

function mostAttempts(type: PlayedActivity['type'], end: string): number {
  const most = RETRIES[type]?.attempts ?? 1;
  return type === 'downloadVideo' ? (DOWNLOAD_ATTEMPTS[end] ?? most) : most;
}

/** The pause after an attempt: Retry-After, or twice the pause before. */
function pauseMs(type: PlayedActivity['type'], { retryAfterMs, number }: Attempt) {
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
