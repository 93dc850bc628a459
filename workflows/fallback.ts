import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { SubmitVerdict } from '../activities/submit/verdict';
import { describeDuration } from '../src/contract/duration';
import { FAILURES, type FailureRow, type FailureType, mayHaveMadeTask } from '../src/contract/failure-table';
import { refusedAttempt } from '../src/contract/service-attempts';
import { readChoice } from '../src/contract/service-choice';
import {
  type ActivityTimeout,
  describeEvent,
  readFailure,
  readTimeout,
  type VideoFailure,
} from '../src/contract/video-failure';
import type { Job } from './job';
import { lastNote, recall } from './known-submit';
import { logJob } from './log-event';
import type { ServiceTurns } from './service-turns';

export type Submitted = { taskId: string } | { lostSubmit: VideoFailure };

/**
 * What follows a submit that failed: a task was found, the next service's turn, the same once more, the same until the
 * deadline, or the end of the job.
 */
type Sequel = { taskId: string } | { failure: FailureType; message: string } | 'again' | 'stay' | 'end';

/**
 * Submits to the services of a job in turn. The next one gets the request only when it is certain that none before it made a
 * task: a lost submit stays with its service, also after a decision about it.
 */
export async function submitInTurn(
  job: Job,
  turns: ServiceTurns,
  submitOrHold: () => Promise<Submitted>,
): Promise<Submitted> {
  for (;;) {
    try {
      return await submitOrHold();
    } catch (error) {
      const name = job.service?.name ?? '';
      const next = turns.nextAfter(name);
      if (next === undefined) throw error;
      const sequel = readRefusal(error) ?? (await sequelOfTimeout(job, error));
      if (sequel === 'end') throw error;
      if (sequel === 'stay') turns.stay();
      if (sequel === 'again') turns.waitLonger();
      if (typeof sequel === 'string') continue;
      if ('taskId' in sequel) return sequel;
      const { failure, message } = sequel;
      logJob(job, 'nextService', { service: name, failureType: failure, reason: message, next });
      turns.recordRefused(refusedAttempt(name, failure, message));
      job.moveTo({ name: next });
    }
  }
}

/** What the activity says beside its failure: see activities/submit/verdict.ts. */
export function readVerdict(error: unknown): SubmitVerdict {
  const { cause } = error instanceof ActivityFailure ? error : {};
  const [, ...more] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  const { triesNext, service, isUnnamed }: Record<keyof SubmitVerdict, unknown> = Object.assign(
    {},
    ...more.map(Object),
  );
  const choice = readChoice(service);
  return {
    ...(triesNext === true && { triesNext }),
    ...(choice && { service: choice }),
    ...(isUnnamed === true && { isUnnamed }),
  };
}

/** Why the service certainly made no task, if the activity says so. */
function readRefusal(error: unknown): Sequel | undefined {
  const failure = readVerdict(error).triesNext && readFailure(error);
  if (!failure || !fallsBack(failure.type)) return undefined;
  return { failure: failure.type, message: describeEvent(failure.type, failure.details) };
}

/** What follows a submit that timed out before the deadline. One that may be lost has been held before: see submit.ts. */
const AFTER_TIMEOUT: Record<
  ActivityTimeout['during'],
  (job: Job, timeout: ActivityTimeout, error: unknown) => Sequel | Promise<Sequel>
> = {
  'never-started': afterNoStart,
  'never-decrypted': () => 'again',
  'between-attempts': (_job, { last }, error) => {
    if (!hasCertainNote(error)) return 'stay';
    return last && fallsBack(last) ? { failure: last, message: describeEvent(last, {}) } : 'again';
  },
  'while-running': () => 'end',
};

async function sequelOfTimeout(job: Job, error: unknown): Promise<Sequel> {
  const timeout = readTimeout(error);
  if (timeout === undefined || job.remainingMs() === 0) return 'end';
  return AFTER_TIMEOUT[timeout.during](job, timeout, error);
}

/** Its service is paused after a 429, no worker has it any more, or no worker runs at all. */
async function afterNoStart(job: Job): Promise<Sequel> {
  const { task, onLostSubmit } = await recall(job);
  if (task) {
    job.recordSubmitted(task);
    return task;
  }
  // Without any worker, the service is not to blame.
  if (onLostSubmit === undefined) return 'again';
  const failure = 'ServiceUnreachable';
  const waited = describeDuration(job.startWithinMs ?? 0);
  const message = `nothing was sent, because no worker had room for it within ${waited}`;
  return { failure, message: describeEvent(failure, { message }) };
}

function fallsBack(type: FailureType): boolean {
  const { fallsBack }: FailureRow = FAILURES[type];
  return fallsBack !== undefined && !mayHaveMadeTask(type);
}

/**
 * Whether the last attempt left a note by which none before it may have made a task. With `onLostSubmit: 'resubmit'` one may be
 * lost, and an answer such as 500 leaves it open.
 */
function hasCertainNote(error: unknown): boolean {
  const { attemptWithoutTask, lostSubmit, sending, lostSubmits, unsure } = lastNote(error);
  return (
    attemptWithoutTask !== undefined &&
    lostSubmit === undefined &&
    sending === undefined &&
    !lostSubmits &&
    unsure === undefined
  );
}
