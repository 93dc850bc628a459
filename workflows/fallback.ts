import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { FindTurnInput, VideoActivities } from '../activities';
import { fileName } from '../src/contract/digest';
import { childName, FALLBACK_FIELDS, type FallbackInput } from '../src/contract/fallback';
import { fieldProblem, isWorkflowId, JOB_SOURCE_RULE, WORKFLOW_ID_RULE } from '../src/contract/input-rules';
import type { JobInput, JobResult } from '../src/contract/job';
import { describeConflict, identityOf, type JobIdentity } from '../src/contract/job-identity';
import { POLL_NOW_SIGNAL, SERVICE_MEMO } from '../src/contract/names';
import { FIND_TURN_POLICY } from '../src/contract/policies';
import { choiceProblem } from '../src/contract/service-choice';
import { createFailure, fallsBack, readFailure, VideoFailure } from '../src/contract/video-failure';
import { ChildJobs, childNews } from './child-jobs';
import { FallbackState } from './fallback-state';
import { checkInput, refused } from './input';
import { pollNow, progress, waitForTask } from './messages';

/**
 * One request in; one stored video or one explained failure out, from the first of several services that takes it. Each service
 * gets a job of its own, a child workflow, and the next one only when it is certain that none before it made a task.
 *
 * @example
 * ```ts
 * const input = { request: { prompt: 'A red fox in the snow' }, services: ['fal-seedance', 'replicate-wan'] };
 * const { video } = await executeChild(generateVideoWithFallback, { args: [input] });
 * ```
 */
export async function generateVideoWithFallback(input: FallbackInput): Promise<JobResult> {
  checkFallbackInput(input);
  const job = new FallbackState(input);
  answerMessages(job);
  try {
    return await tryInTurn(job);
  } catch (error) {
    const failure = isCancellation(error) ? new VideoFailure('Cancelled') : readFailure(error);
    throw failure === undefined ? error : await ended(job, failure);
  }
}

async function tryInTurn(job: FallbackState): Promise<JobResult> {
  const { workflowId } = workflowInfo();
  const turns = job.input.services.map((service) => ({ service, job: childName(workflowId, service) }));
  const first = await findFirst(job, turns);
  const children = new ChildJobs('fallback');
  for (const [index, { service, job: name }] of turns.entries()) {
    if (index < first) continue;
    const left = turns.length - index - 1;
    job.startTurn(service, name);
    const end = await children.run(name, childInput(job, service, left));
    if ('result' in end) {
      const result = { ...end.result, attempts: job.recordMade(service) };
      await CancellationScope.nonCancellable(() => job.end('succeeded', result));
      return result;
    }
    if (left === 0 || !triesNext(end.failure)) throw end.failure;
    job.recordRefused(service, end.failure, turns[index + 1]?.service);
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
  }
  throw refused('services names no service');
}

/** Certainly no task exists, and the next service may do better. A lost submit stays with its service, also after a decision. */
function triesNext({ type, details }: VideoFailure): boolean {
  const { taskId, mayHaveTask, lostSubmit, status } = details;
  return taskId === undefined && !mayHaveTask && lostSubmit === undefined && fallsBack(type, status);
}

/** The job at one service, as if the user had asked for that one. Its video has the name that the user knows. */
function childInput(job: FallbackState, service: string, left: number): JobInput {
  const { services: _, fallbackAfter: __, callbackUrl: ___, storage, ...options } = job.input;
  const key = storage == null || storage.endsWith('/') ? `${storage ?? ''}{workflowId}.{ext}` : storage;
  return {
    ...options,
    service,
    deadline: job.remainingMs(),
    storage: key.replaceAll('{workflowId}', () => fileName(workflowInfo().workflowId)),
    ...(left > 0 && { submitWithin: job.turnMs(left) }),
  };
}

/** The service to begin with: that of an earlier run of this name which may have a task. */
async function findFirst(job: FallbackState, turns: FindTurnInput['turns']): Promise<number> {
  const { findTurn } = proxyActivities<VideoActivities>({
    ...FIND_TURN_POLICY,
    scheduleToCloseTimeout: job.remainingMs(),
    summary: job.input.services.join(', '),
  });
  const isVouchedFor = workflowInfo().memo?.[SERVICE_MEMO] === job.input.services[0];
  const { request } = job.input;
  const { problem, first, hasReceiver } = await findTurn({ request, turns, isVouchedFor });
  if (hasReceiver) job.hasDefaultReceiver = true;
  if (problem !== undefined) throw refused(problem);
  return first;
}

async function ended(job: FallbackState, failure: VideoFailure): Promise<unknown> {
  const explained = job.explain(failure);
  await CancellationScope.nonCancellable(async () => {
    await job.end(failure.type === 'Cancelled' ? 'cancelled' : 'failed', explained);
    // Callers that wait for the task id get their answer before the workflow closes.
    await condition(allHandlersFinished);
  });
  return failure.type === 'Cancelled'
    ? new CancelledFailure(explained.message)
    : createFailure(explained.type, explained.details);
}

/** Decisions go to the child: a workflow cannot answer for another. Clients find it in the progress. */
function answerMessages(job: FallbackState): void {
  setHandler(progress, () => job.progress(), {
    description: 'Returns which service has its turn and the name of its job, a child workflow',
  });
  setHandler(childNews, (news) => job.recordNews(news), {
    description: 'Sent by the job at a service when it has a task, or waits for a decision',
  });
  setHandler(
    pollNow,
    async () => {
      const { child } = job.progress();
      if (child === undefined) return;
      // One that has just ended needs no poll; without the catch, Temporal would fail this job.
      await getExternalWorkflowHandle(child)
        .signal(POLL_NOW_SIGNAL)
        .catch(() => undefined);
    },
    { description: 'Polls the task now instead of at the next poll' },
  );
  setHandler(
    waitForTask,
    async () => {
      await CancellationScope.nonCancellable(() => condition(() => job.taskOrFailure() !== undefined));
      const found = job.taskOrFailure();
      if (typeof found === 'string') return found;
      throw found;
    },
    {
      description: 'Returns the task id as soon as there is one; fails while the job waits for a decision',
      validator: (identity?: JobIdentity) => {
        const conflict = identity && describeConflict('this', identityOf(job.input), identity);
        if (conflict) throw createFailure('InvalidRequest', conflict);
        const found = job.taskOrFailure();
        if (found !== undefined && typeof found !== 'string') throw found;
      },
    },
  );
}

/** The same for a job with several services. The names of the jobs at them must be possible too. */
function checkFallbackInput(input: FallbackInput | null | undefined): asserts input is FallbackInput {
  const problem =
    input == null ? JOB_SOURCE_RULE : (fieldProblem(input, FALLBACK_FIELDS) ?? choiceProblem(input));
  if (problem !== undefined) throw refused(problem);
  const { services, fallbackAfter: _, ...options }: Partial<FallbackInput> = Object(input);
  if (services == null) throw refused(`services ${FALLBACK_FIELDS.services.sentence}`);
  checkInput({ ...options, request: options.request ?? { prompt: '' } });
  if (options.request == null) throw refused(JOB_SOURCE_RULE);
  const { workflowId } = workflowInfo();
  if (!services.every((service) => isWorkflowId(childName(workflowId, service))))
    throw refused(`the name of the job at a service ${WORKFLOW_ID_RULE}`);
}
