import { createHash } from 'node:crypto';
import { shown } from '../contract/clean-text';
import { FAILURES, type FailureType } from '../contract/failure-table';
import { adoptCommand, commandOn, decisionCommands } from '../contract/lost-submit';
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
  /** Whether it certainly paid for nothing. */
  sentNothing: boolean;
}

/**
 * `adopt` continues with the task and pays for nothing. `submit` sends the request again: `afresh` under the job's own name,
 * whose record in the storage may know of an earlier job that did pay; `again` with the idempotency key of the lost submit,
 * which a service that honours keys answers with the same task; or `anew`.
 */
export type RetryPlan = { adopt: string } | { submit: 'afresh' | 'again' | 'anew' };

/** How to try an ended job again without paying twice, unless the user has decided to (`resubmit`). */
export function planRetry(
  { workflowId, state, failure, taskId, sentNothing }: EndedJob,
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
  const row = failure && FAILURES[failure.type];
  if (taskId !== undefined && !row?.taskIsOver && !resubmit) return { adopt: taskId };
  if (resubmit && taskId !== undefined) return { submit: 'anew' };
  if (taskId === undefined && sentNothing && (resubmit || (row && !row.isFinal))) return { submit: 'afresh' };
  if (resubmit) return { submit: 'again' };
  throw new RetryRefused(whyNot({ name, failure, taskId, sentNothing }), [
    ...(failure?.type === 'SubmitUnconfirmed' ? [adoptCommand(failure) ?? ''] : []),
    commandOn('retry', workflowId, '--resubmit'),
  ]);
}

function whyNot({
  name,
  failure,
  taskId,
  sentNothing,
}: Pick<EndedJob, 'failure' | 'taskId' | 'sentNothing'> & { name: string }): string {
  if (failure?.type === 'ContentRefused') {
    const cost = taskId === undefined ? '' : ' and may be charged again';
    return `The content of ${name} was refused, and the same request would be refused again${cost}. Change the prompt or the image and start a new job.`;
  }
  if (taskId !== undefined) {
    return `The task of ${name} brings no video (${failure?.type}). The same request again is paid again.`;
  }
  if (sentNothing) return `${name} was refused, and the same request would be refused again.`;
  return `${name} may have paid for a task that is not known. Look for it at the service: adopt it if it exists, and submit again only if it does not.`;
}

/** Whether a retry of a job that ended so is worth a try without a decision of the user. */
export function mayRetryAsItIs(failure: FailureType | undefined, taskId: string | undefined): boolean {
  if (failure === undefined) return true;
  const { taskIsOver, isFinal } = FAILURES[failure];
  return !(taskId === undefined ? isFinal : taskIsOver);
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
