import {
  type ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { FindTurnInput, VideoActivities } from '../activities';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { fileName } from '../src/contract/digest';
import { durationMs } from '../src/contract/duration';
import { describeAttempts, refusedAttempt, type ServiceAttempt } from '../src/contract/failure-details';
import type { ChildNews, FallbackInput } from '../src/contract/fallback';
import type { JobInput, JobProgress, JobResult } from '../src/contract/job';
import { childName, SERVICE_MEMO } from '../src/contract/names';
import { DEFAULT_DEADLINE_MS, DEFAULT_FALLBACK_AFTER_MS, FIND_TURN_POLICY } from '../src/contract/policies';
import { cutToBytes } from '../src/contract/sizes';
import {
  createFailure,
  describeEvent,
  fallsBack,
  readFailure,
  VideoFailure,
} from '../src/contract/video-failure';
import { answerPollNow, ChildJobs, childNews } from './child-jobs';
import { thrown } from './end';
import { heldFailure } from './hold';
import { checkFallbackInput, refused } from './input';
import { logEvent } from './log-event';
import { answerWaitForTask, progress } from './messages';
import { notifyReceiver, tellParent } from './notify';
import { currentDetails, updateMemo, updateSearchAttributes } from './ui-details';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** Leaves room in the message of a failure for what became of the services before. */
const LONGEST_OWN_MESSAGE_BYTES = 600;

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
  const job = new FallbackJob(Object(input));
  answerMessages(job);
  try {
    const result = await tryInTurn(job);
    await CancellationScope.nonCancellable(() => job.end('succeeded', result));
    return result;
  } catch (error) {
    const failure = isCancellation(error) ? new VideoFailure('Cancelled') : readFailure(error);
    throw failure === undefined ? error : await CancellationScope.nonCancellable(() => fail(job, failure));
  }
}

async function tryInTurn(job: FallbackJob): Promise<JobResult> {
  const { workflowId } = workflowInfo();
  checkFallbackInput(job.input, workflowId);
  const turns = job.input.services.map((service) => ({ service, job: childName(workflowId, service) }));
  const first = await findFirst(job, turns);
  const children = new ChildJobs('fallback');
  for (const [index, { service, job: name }] of turns.entries()) {
    if (index < first) continue;
    const left = turns.length - index - 1;
    job.startTurn(service, name);
    const end = await children.run(name, job.inputAt(service, left));
    if ('result' in end) return { ...end.result, attempts: job.recordMade(service) };
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

/** The service to begin with: that of an earlier run of this name which may have a task. */
async function findFirst(job: FallbackJob, turns: FindTurnInput['turns']): Promise<number> {
  const { findTurn } = proxyActivities<VideoActivities>({
    ...FIND_TURN_POLICY,
    scheduleToCloseTimeout: job.remainingMs(),
    summary: job.input.services.join(', '),
  });
  const isVouchedFor = workflowInfo().memo?.[SERVICE_MEMO] === job.input.services[0];
  const { problem, first } = await findTurn({ request: job.input.request, turns, isVouchedFor });
  if (problem !== undefined) throw refused(problem);
  return first;
}

async function fail(job: FallbackJob, failure: VideoFailure): Promise<unknown> {
  const explained = job.explain(failure);
  await job.end(failure.type === 'Cancelled' ? 'cancelled' : 'failed', explained);
  // Callers that wait for the task id get their answer before the workflow closes.
  await condition(allHandlersFinished);
  return thrown(explained);
}

/** Decisions go to the child: a workflow cannot answer for another. Clients find it in the progress. */
function answerMessages(job: FallbackJob): void {
  setHandler(progress, () => job.progress(), {
    description: 'Returns which service has its turn and the name of its job, a child workflow',
  });
  setHandler(childNews, (news) => job.recordNews(news), {
    description: 'Sent by the job at a service when it has a task, or waits for a decision',
  });
  answerPollNow(() => job.progress().child ?? []);
  answerWaitForTask(job);
}

/** What a job with several services knows: whose turn it is, and what that one's job tells it. */
class FallbackJob {
  private readonly startedAtMs = Date.now();
  private readonly deadlineMs: number;
  private readonly attempts: ServiceAttempt[] = [];
  private readonly now: Pick<
    JobProgress,
    'phase' | 'taskId' | 'service' | 'child' | 'hold' | 'cost' | 'webhook'
  > = { phase: 'submitting' };
  private failure: VideoFailure | undefined;

  constructor(readonly input: FallbackInput) {
    this.deadlineMs = durationMs(input.deadline) ?? DEFAULT_DEADLINE_MS;
  }

  remainingMs(): number {
    return Math.max(SHORTEST_TURN_MS, this.startedAtMs + this.deadlineMs - Date.now());
  }

  /** The job at one service, as if the user had asked for that one. Its video has the name that the user knows. */
  inputAt(service: string, left: number): JobInput {
    const { services: _, fallbackAfter, storage, ...options } = this.input;
    const key = storage == null || storage.endsWith('/') ? `${storage ?? ''}{workflowId}.{ext}` : storage;
    const deadline = this.remainingMs();
    // So that the services after it have time too.
    const turnMs = Math.min(durationMs(fallbackAfter) ?? DEFAULT_FALLBACK_AFTER_MS, deadline / (left + 1));
    return {
      ...options,
      service,
      deadline,
      storage: key.replaceAll('{workflowId}', () => fileName(workflowInfo().workflowId)),
      ...(left > 0 && { submitWithin: Math.max(SHORTEST_TURN_MS, Math.floor(turnMs)) }),
    };
  }

  startTurn(service: string, child: string): void {
    if (workflowInfo().memo?.[SERVICE_MEMO] !== service) upsertMemo({ [SERVICE_MEMO]: service });
    this.update({ service, child });
  }

  recordRefused(service: string, { type, details }: VideoFailure, next: string | undefined): void {
    const attempt = refusedAttempt(service, type, describeEvent(type, details));
    this.attempts.push(attempt);
    logEvent('nextService', { service, failureType: attempt.failure, reason: attempt.message, next });
  }

  recordMade(service: string): ServiceAttempt[] {
    this.attempts.push({ service, outcome: 'made' });
    return this.attempts;
  }

  /** Any program can send a signal, of any shape. A batch counts held items, and a hold of their parts. */
  recordNews({ name, taskId, hold }: ChildNews): void {
    if (name !== this.now.child) return;
    if (hold !== undefined) {
      this.update({ hold: hold ?? undefined, phase: hold ? 'needs-decision' : 'submitting' });
      tellParent({ hold });
    }
    if (typeof taskId === 'string') this.update({ taskId, phase: 'waiting' });
  }

  taskOrFailure(): string | ApplicationFailure | undefined {
    const { taskId, hold, service, child = '' } = this.now;
    if (taskId !== undefined) return taskId;
    if (this.failure) return createFailure(this.failure.type, this.failure.details);
    return hold && heldFailure(child, hold, { service, message: hold.message.replace(/[.\s]+$/, '') });
  }

  /** The failure of the last service, with what became of those before it. */
  explain({ type, details }: VideoFailure): VideoFailure {
    const { attempts } = this;
    const { service } = this.now;
    if (details.taskId !== undefined || service === undefined)
      return new VideoFailure(type, { ...details, attempts });
    const own = cutToBytes(details.message ?? '', LONGEST_OWN_MESSAGE_BYTES).replace(/[.\s]+$/, '');
    const message = [own, describeAttempts(service, attempts)].filter(Boolean).join('; ');
    return new VideoFailure(type, { ...details, message, attempts });
  }

  async end(phase: 'succeeded' | 'failed' | 'cancelled', end: JobResult | VideoFailure): Promise<void> {
    const hasFailed = end instanceof VideoFailure;
    this.failure = hasFailed ? end : undefined;
    const { cost } = hasFailed ? end.details : end;
    const { taskId = this.now.taskId } = end;
    const ending = hasFailed ? plainMarkdown(end.message) : codeMarkdown(end.video.uri);
    this.update({ phase, taskId, cost, child: undefined, hold: undefined }, ending);
    const webhook = await notifyReceiver({
      event: hasFailed ? 'video.failed' : 'video.completed',
      url: this.input.callbackUrl ?? undefined,
      taskId,
      failure: this.failure?.type,
      cost,
      attempts: this.attempts,
    });
    this.update({ webhook }, ending);
  }

  /** What the child does, the child itself says. */
  progress(): JobProgress {
    const { startedAtMs, attempts } = this;
    const startedAt = new Date(startedAtMs).toISOString();
    const deadlineAt = new Date(startedAtMs + this.deadlineMs).toISOString();
    return { ...this.now, attempts, polls: 0, startedAt, deadlineAt };
  }

  private update(news: Partial<FallbackJob['now']>, ending?: string): void {
    Object.assign(this.now, news);
    const progress = this.progress();
    const { child } = progress;
    const at = child && `The job at this service is the child workflow ${codeMarkdown(child)}.`;
    const tried = this.attempts.map((attempt) => `- ${describeAttempt(attempt)}`).join('\n');
    const ends = [tried, ending ?? at].filter(Boolean).join('\n\n');
    // Only the child takes a decision, and its details say how.
    setCurrentDetails(currentDetails({ ...progress, hold: undefined }, ends, ''));
    updateMemo(progress);
    updateSearchAttributes({ ...progress, failure: this.failure?.type });
  }
}

function describeAttempt(attempt: ServiceAttempt): string {
  const became = attempt.outcome === 'made' ? 'made the task' : `no task: ${plainMarkdown(attempt.message)}`;
  return `${codeMarkdown(attempt.service)}: ${became}`;
}
