import { createHash } from 'node:crypto';
import { shown } from '../contract/clean-text';
import { FAILURES, type FailureType } from '../contract/failure-table';
import { commandOn, decisionCommands } from '../contract/lost-submit';
import type { VideoFailure } from '../contract/video-failure';
import type { OverviewState } from './overview';

/** A job that is not tried again. The message says why, `commands` what can be done instead. */
export class RetryRefused extends Error {
  override readonly name = 'RetryRefused';

  constructor(
    message: string,
    readonly commands: readonly string[] = [],
  ) {
    super(message);
  }
}

export interface EndedJob {
  workflowId: string;
  state: OverviewState;
  /** How it ended; undefined if Temporal no longer says, or if it ended with an error that is not ours. */
  failure?: VideoFailure | undefined;
  taskId?: string | undefined;
  /** It was held for a decision. */
  wasHeld?: boolean;
}

/**
 * `adopt` continues with the task under another name and pays for nothing. `again` starts the job under its own name, whose
 * record in the storage says what was sent: the job continues with its task, is held for its lost submit, or sends what was
 * never sent. `anew` pays for another task under another name.
 */
export type RetryPlan = { adopt: string } | { submit: 'again' | 'anew' };

/** How to try an ended job again without paying twice, unless the user has decided to (`resubmit`). */
export function planRetry(
  { workflowId, state, failure, taskId, wasHeld = false }: EndedJob,
  { resubmit = false }: { resubmit?: boolean } = {},
): RetryPlan {
  const name = shown(workflowId);
  switch (state) {
    case 'running':
      throw new RetryRefused(`${name} is still running.`, [commandOn('watch', workflowId)]);
    case 'needs-decision':
      throw new RetryRefused(
        `${name} waits for a decision: its submit was lost, and a paid task may exist. Look for the task at the service and decide.`,
        decisionCommands(workflowId).map(({ command }) => command),
      );
    case 'succeeded':
      throw new RetryRefused(`${name} has succeeded.`, [commandOn('download', workflowId)]);
    case 'failed':
    case 'cancelled':
  }
  if (resubmit) return { submit: taskId === undefined ? 'again' : 'anew' };
  // Somebody decided to repeat a lost submit, so that its record does not ask again.
  const isRepeated = wasHeld && failure?.details.mayHaveTask === true;
  if (mayRetryAsItIs(failure?.type, taskId) && !isRepeated)
    return taskId === undefined ? { submit: 'again' } : { adopt: taskId };
  throw new RetryRefused(whyNot(name, failure, taskId), [commandOn('retry', workflowId, '--resubmit')]);
}

function whyNot(name: string, failure: VideoFailure | undefined, taskId: string | undefined): string {
  if (failure?.type === 'ContentRefused') {
    const cost = taskId === undefined ? '' : ' and may be charged again';
    return `The content of ${name} was refused, and the same request would be refused again${cost}. Change the prompt or the image and start a new job.`;
  }
  if (taskId !== undefined)
    return `The task of ${name} brings no video (${failure?.type}). The same request again is paid again.`;
  if (failure?.details.mayHaveTask)
    return `A lost submit of ${name} was repeated and refused, and may have made a task. Look for it at the service: adopt it if it exists, and submit again only if it does not.`;
  return `${name} was refused, and the same request would be refused again.`;
}

/** Whether a job that ended so is tried again without a decision of the user. */
export function mayRetryAsItIs(failure: FailureType | undefined, taskId: string | undefined): boolean {
  if (failure === undefined) return true;
  const { taskIsOver, isFinal, paidNothing } = FAILURES[failure];
  return !(taskId === undefined ? isFinal && paidNothing : taskIsOver);
}

/** Temporal's limit. */
const LONGEST_NAME_BYTES = 1_000;
const DIGEST_CHARS = 16;
const SUFFIX = /-retry-([1-9]\d{0,5})$/;

/** `fox` is retried as `fox-retry-1`, and that as `fox-retry-2`: the same name always has the same next one. */
export function retryName(workflowId: string): string {
  const number = Number(SUFFIX.exec(workflowId)?.[1] ?? 0) + 1;
  const suffix = `-retry-${number}`;
  const base = workflowId.replace(SUFFIX, '');
  const bytes = new TextEncoder().encode(base);
  if (bytes.length + suffix.length <= LONGEST_NAME_BYTES) return `${base}${suffix}`;
  const digest = createHash('sha256').update(workflowId).digest('hex').slice(0, DIGEST_CHARS);
  const kept = bytes.slice(0, LONGEST_NAME_BYTES - suffix.length - DIGEST_CHARS - 1);
  // A character that was cut in half is left out.
  const text = new TextDecoder().decode(kept).replace(/\uFFFD+$/, '');
  return `${text}-${digest}${suffix}`;
}
