import type { Client } from '@temporalio/client';
import { shown } from '../contract/clean-text';
import type { DurationText } from '../contract/duration';
import { FAILURES, type FailureType, isTaskOver, paidNothing } from '../contract/failure-table';
import { commandOn, copyCommand, decisionCommands, unpauseCommand } from '../contract/lost-submit';
import { LOST_SUBMIT_MEMO, OWN_MEMOS } from '../contract/names';
import { servicesOf } from '../contract/service-choice';
import type { VideoFailure } from '../contract/video-failure';
import { encrypts } from '../encryption/data-converter';
import { failureOfEnded, findOverview, readStart, type StoredInput } from './job-overview';
import type { JobOverview, OverviewState } from './overview';
import { prepareBatch, prepareJob } from './prepare-start';
import { RetryRefused } from './refusals';
import { NameTaken, type PreparedStart, startOrJoinOn } from './start-or-join';
import { inTime } from './temporal-calls';

/** Options for a retry. */
export interface RetryOptions {
  /**
   * Submits the request again even if that is paid again, or may be: you have looked for the task at the service, or its
   * generation has failed.
   */
  resubmit?: boolean;
  /** How long the new job may take; as long as the old one by default. */
  deadline?: DurationText;
}

/** A retry that was started, or was running already. */
export interface RetriedJob {
  /** The name of the new job. A batch keeps its own, and so does a job without a known task. */
  workflowId: string;
  kind: JobOverview['kind'];
  /** The task that the new job continues with, which is not paid again. */
  adopted?: string;
  /** True if an earlier retry had started it. */
  isJoined: boolean;
}

/** Tries an ended job or batch again, on the task queue that it had. Rejects with a RetryRefused. */
export async function retryJob(
  client: Client,
  workflowId: string,
  { resubmit = false, deadline }: RetryOptions = {},
): Promise<RetriedJob> {
  const overview = await findOverview(client, workflowId);
  if (overview === undefined) throw new RetryRefused(`There is no job ${shown(workflowId)}.`);
  const why = NOT_RETRIED[overview.state];
  if (why) throw new RetryRefused(`${shown(workflowId)} ${why}`, nextCommands(overview));
  const { input, memo, searchAttributes } = await readStart(client, overview);
  const settings = {
    // What the service takes beyond the interface is in the requests, which were accepted before.
    requestFields: [input.request, input.requests].flat().flatMap((request) => Object.keys(Object(request))),
    // What other programs noted about the job is true for its retry too.
    temporal: {
      memo: Object.fromEntries(Object.entries(memo).filter(([name]) => !OWN_MEMOS.includes(name))),
    },
  };
  if (overview.kind === 'batch') {
    // Whatever it paid for is recorded in the storage.
    const { isJoined } = await startOn(client, overview, prepareBatch(input, { ...settings, workflowId }));
    return { workflowId, kind: 'batch', isJoined };
  }
  // This run alone: another retry may start the job again meanwhile.
  const run = client.workflow.getHandle(workflowId, overview.runId, { followRuns: false });
  const failure = await failureOfEnded(client, run);
  const taskId = failure?.taskId ?? overview.taskId;
  const plan = planRetry(workflowId, { failure, taskId, wasHeld: LOST_SUBMIT_MEMO in memo, resubmit });
  const service = overview.service ?? failure?.details.service ?? servicesOf(input)[0];
  const prepared = prepareJob(
    {
      ...inputFor(plan, workflowId, input, { taskId, service }),
      // To retry a lost submit is to decide about it.
      ...(failure?.type === 'SubmitUnconfirmed' && { onLostSubmit: 'hold' }),
      ...(deadline !== undefined && { deadline }),
    },
    {
      ...settings,
      workflowId: plan === 'again' ? workflowId : retryName(workflowId),
      searchAttributes: Object.hasOwn(searchAttributes, 'VideoPhase'),
      hidesTaskId:
        encrypts(client.options.loadedDataConverter) || !Object.hasOwn(searchAttributes, 'VideoTaskId'),
    },
  );
  // A retry knows how the job ended; a mere start under its name does not.
  const start = plan === 'again' ? { ...prepared, restartPolicy: restartUnlessSucceeded } : prepared;
  const { isJoined } = await startOn(client, overview, start);
  const adopted = plan === 'adopt' ? taskId : undefined;
  return { workflowId: prepared.options.workflowId, kind: 'job', adopted, isJoined };
}

/** Why a job in one of these states is not tried again. */
const NOT_RETRIED: Partial<Record<OverviewState, string>> = {
  running: 'is still running.',
  'needs-decision':
    'waits for a decision: its submit was lost, and a paid task may exist. Look for the task at the service and decide.',
  succeeded: 'has succeeded.',
};

/** What can be done about a job or a batch now. */
export function nextCommands({
  workflowId,
  kind,
  state,
  failure,
  taskId,
  paused,
}: Pick<JobOverview, 'workflowId' | 'kind' | 'state' | 'failure' | 'taskId' | 'paused'>): string[] {
  if (paused) return [unpauseCommand(paused.name), commandOn('cancel', workflowId)];
  if (state === 'running') return [commandOn('watch', workflowId), commandOn('cancel', workflowId)];
  if (state === 'needs-decision') return decisionCommands(workflowId).map(({ command }) => command);
  if (state === 'succeeded') return kind === 'batch' ? [] : [copyCommand(workflowId)];
  return kind === 'batch' || mayRetryAsItIs(failure, taskId) ? [commandOn('retry', workflowId)] : [];
}

/**
 * `adopt` continues with the task under another name and pays for nothing. `again` starts the job under its own name, whose
 * record in the storage says what was sent: the job continues with its task, is held for its lost submit, or sends what was
 * never sent. `anew` pays for another task under another name.
 */
export type RetryPlan = 'adopt' | 'again' | 'anew';

export interface EndedJob {
  /** Undefined if Temporal no longer says, or if it ended with an error that is not ours. */
  failure: VideoFailure | undefined;
  taskId: string | undefined;
  /** It was held for a decision. */
  wasHeld: boolean;
  /** The user has decided that the request may be paid again. */
  resubmit: boolean;
}

export function planRetry(workflowId: string, { failure, taskId, wasHeld, resubmit }: EndedJob): RetryPlan {
  const hasTask = taskId !== undefined;
  if (resubmit) return hasTask ? 'anew' : 'again';
  // Somebody decided to repeat a lost submit, so that its record does not ask again.
  const isRepeated = wasHeld && failure?.details.mayHaveTask === true;
  if (mayRetryAsItIs(failure?.type, taskId) && !isRepeated) return hasTask ? 'adopt' : 'again';
  const why = isRepeated
    ? 'its lost submit may have made a task, and the repeated submit was refused. Look for the first task at the service'
    : hasTask
      ? 'its task will not produce a video, and the same request would be paid for again'
      : 'the same request would be refused again';
  throw new RetryRefused(`${shown(workflowId)} is not retried: ${why}. ${failure?.message ?? ''}`.trim(), [
    commandOn('retry', workflowId, '--resubmit'),
  ]);
}

/** Whether a job that ended so is tried again without a decision of the user. */
export function mayRetryAsItIs(failure: FailureType | undefined, taskId: string | undefined): boolean {
  if (failure === undefined) return true;
  return !(taskId === undefined ? FAILURES[failure].isFinal && paidNothing(failure) : isTaskOver(failure));
}

/** A task, and a submit that may have made one, stay with their service, which the worker chose if the input names none. */
function inputFor(
  plan: RetryPlan,
  workflowId: string,
  input: StoredInput,
  task: { taskId?: string | undefined; service?: string | undefined },
): StoredInput {
  const again = servicesOf(input).length > 0 ? input : { ...input, service: task.service };
  if (plan === 'again') return again;
  const { request, idempotencyKey: _, ...options } = again;
  if (plan === 'adopt') return { ...options, ...task, services: undefined, fallbackAfter: undefined };
  if (request !== undefined) return { ...options, request, taskId: undefined };
  throw new RetryRefused(`${shown(workflowId)} adopted a task and has no request. Start a new job.`);
}

/** `fox` is retried as `fox-retry-1`, and that as `fox-retry-2`: the same name always has the same next one. */
function retryName(workflowId: string): string {
  const [, base = workflowId, number = 0] = /^(.*)-retry-([1-9]\d{0,5})$/s.exec(workflowId) ?? [];
  return `${base}-retry-${Number(number) + 1}`;
}

const restartUnlessSucceeded: PreparedStart<unknown>['restartPolicy'] = async (_, { status }) =>
  status.name === 'COMPLETED' ? undefined : 'ALLOW_DUPLICATE_FAILED_ONLY';

async function startOn<Input>(
  client: Client,
  { workflowId, taskQueue }: JobOverview,
  prepared: PreparedStart<Input>,
): Promise<{ isJoined: boolean }> {
  const next = prepared.options.workflowId;
  try {
    // A start whose answer did not come is joined by the next retry.
    const outcome = await inTime(client, () => startOrJoinOn(client, taskQueue, prepared));
    if ('started' in outcome) return { isJoined: false };
    const { closeTime, status } = outcome.existing;
    if (closeTime === undefined || status.name === 'COMPLETED') return { isJoined: true };
  } catch (error) {
    if (!(error instanceof NameTaken)) throw error;
  }
  throw new RetryRefused(
    `${shown(workflowId)} was retried before, as ${shown(next)}: continue with that one.`,
    [commandOn('status', next), commandOn('retry', next)],
  );
}
