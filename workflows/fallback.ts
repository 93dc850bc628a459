import {
  type ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  proxyActivities,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { cleanText, codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { fileName } from '../src/contract/digest';
import { durationMs } from '../src/contract/duration';
import type { ServiceRefusal } from '../src/contract/failure-details';
import type { ChildNews, FallbackInput, JobInput, JobProgress, JobResult } from '../src/contract/job';
import { childName, SERVICE_MEMO } from '../src/contract/names';
import { DEFAULT_DEADLINE_MS, DEFAULT_FALLBACK_AFTER_MS, RECORD_POLICY } from '../src/contract/policies';
import {
  createFailure,
  describeEvent,
  fallsBack,
  readFailure,
  VideoFailure,
  withoutEnd,
} from '../src/contract/video-failure';
import { ChildJobs } from './child-jobs';
import { thrown } from './end';
import { heldFailure } from './hold';
import { checkFallbackInput } from './input';
import { logEvent } from './log-event';
import { answerWaitForTask, progress } from './messages';
import { notifyReceiver, tellParent } from './notify';
import { showJob } from './ui-details';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** Leaves room in the message of a failure for what became of the services before. */
const LONGEST_OWN_MESSAGE_CHARS = 600;
/** A hundred results of a batch travel together. */
const LONGEST_REFUSAL_CHARS = 200;

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
  const children = new ChildJobs('fallback', (news) => job.recordNews(news));
  // Decisions go to the child: a workflow cannot answer for another. Clients find it in the progress.
  setHandler(progress, () => job.progress, {
    description: 'Returns which service has its turn and the name of its job, a child workflow',
  });
  answerWaitForTask(job);
  try {
    const result = await tryInTurn(job, children);
    await job.end(result);
    return result;
  } catch (error) {
    const failure = isCancellation(error) ? new VideoFailure('Cancelled') : readFailure(error);
    if (failure === undefined) throw error;
    const explained = job.explain(failure);
    await job.end(explained);
    // Callers that wait for the task id get their answer before the workflow closes.
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    throw thrown(explained);
  }
}

async function tryInTurn(job: FallbackJob, children: ChildJobs): Promise<JobResult> {
  const { workflowId } = workflowInfo();
  checkFallbackInput(job.input, workflowId);
  const { services } = job.input;
  for (let turn = await findTurn(job); ; turn++) {
    const [service = '', ...left] = services.slice(turn);
    const child = childName(workflowId, service);
    job.startTurn(service, child);
    const end = await children.run(child, job.inputAt(service, left.length));
    if ('result' in end) return { ...end.result, refusedBy: job.refusedBy };
    if (left[0] === undefined || !triesNext(end.failure)) throw end.failure;
    job.recordRefused(service, end.failure, left[0]);
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
  }
}

/** Certainly no task exists, and the next service may do better. A lost submit stays with its service, also after a decision. */
function triesNext({ type, details }: VideoFailure): boolean {
  const { taskId, mayHaveTask, lostSubmit, status } = details;
  return taskId === undefined && !mayHaveTask && lostSubmit === undefined && fallsBack(type, status);
}

/** The service to begin with: that of an earlier run of this name which may have a task. */
async function findTurn({ input: { request, services }, remainingMs }: FallbackJob): Promise<number> {
  const activities = proxyActivities<VideoActivities>({
    ...RECORD_POLICY,
    scheduleToCloseTimeout: remainingMs(),
    summary: services.join(', '),
  });
  const isVouchedFor = workflowInfo().memo?.[SERVICE_MEMO] === services[0];
  return activities.findTurn({ request, services, isVouchedFor });
}

/** What a job with several services knows: whose turn it is, and what that one's job tells it. */
class FallbackJob {
  /** What the child does, the child itself says. */
  readonly progress: JobProgress;
  readonly refusedBy: ServiceRefusal[] = [];
  private readonly deadlineAtMs: number;
  private failure: VideoFailure | undefined;

  constructor(readonly input: FallbackInput) {
    this.deadlineAtMs = Date.now() + (durationMs(input.deadline) ?? DEFAULT_DEADLINE_MS);
    this.progress = {
      phase: 'submitting',
      refusedBy: this.refusedBy,
      polls: 0,
      startedAt: new Date().toISOString(),
      deadlineAt: new Date(this.deadlineAtMs).toISOString(),
    };
  }

  readonly remainingMs = (): number => Math.max(SHORTEST_TURN_MS, this.deadlineAtMs - Date.now());

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

  recordRefused(service: string, { type, details }: VideoFailure, next: string): void {
    const reason = describeEvent(type, details);
    this.refusedBy.push({ service, failure: type, message: cleanText(reason, LONGEST_REFUSAL_CHARS) });
    logEvent('nextService', { service, failureType: type, reason, next });
  }

  /** A batch counts held items, and a hold of their parts. */
  recordNews({ name, taskId, hold }: ChildNews): void {
    if (name !== this.progress.child) return;
    if (hold !== undefined) {
      this.update({ hold: hold ?? undefined, phase: hold ? 'needs-decision' : 'submitting' });
      tellParent({ hold });
    }
    if (typeof taskId === 'string') this.update({ taskId, phase: 'waiting' });
  }

  taskOrFailure(): string | ApplicationFailure | undefined {
    const { taskId, hold, service, child = '' } = this.progress;
    if (taskId !== undefined) return taskId;
    if (this.failure) return createFailure(this.failure.type, this.failure.details);
    return hold && heldFailure(child, hold, { service });
  }

  /** The failure of the last service, with what became of those before it. */
  explain({ type, details }: VideoFailure): VideoFailure {
    const { refusedBy, progress } = this;
    if (details.taskId !== undefined || progress.service === undefined)
      return new VideoFailure(type, { ...details, refusedBy });
    const own = withoutEnd(cleanText(details.message ?? '', LONGEST_OWN_MESSAGE_CHARS));
    const before = refusedBy.map((one) => `${one.service} (${withoutEnd(one.message)})`).join(' and ');
    const tried = `that was the service ${progress.service}${before && `, after ${before}`}`;
    return new VideoFailure(type, {
      ...details,
      message: [own, tried].filter(Boolean).join('; '),
      refusedBy,
    });
  }

  async end(end: JobResult | VideoFailure): Promise<void> {
    this.failure = end instanceof VideoFailure ? end : undefined;
    const failure = this.failure?.type;
    const phase = failure === undefined ? 'succeeded' : failure === 'Cancelled' ? 'cancelled' : 'failed';
    const { taskId = this.progress.taskId } = end;
    const { cost } = 'details' in end ? end.details : end;
    const ending = 'video' in end ? codeMarkdown(end.video.uri) : plainMarkdown(end.message);
    this.update({ phase, taskId, cost, child: undefined, hold: undefined }, ending);
    await notifyReceiver({
      event: failure === undefined ? 'video.completed' : 'video.failed',
      url: this.input.callbackUrl ?? undefined,
      taskId,
      failure,
      cost,
      refusedBy: this.refusedBy,
    });
  }

  private update(news: Partial<JobProgress>, ending?: string): void {
    const progress = Object.assign(this.progress, news);
    const { child } = progress;
    const at = child && `The job at this service is the child workflow ${codeMarkdown(child)}.`;
    const tried = this.refusedBy
      .map(({ service, message }) => `- ${codeMarkdown(service)}: no task: ${plainMarkdown(message)}`)
      .join('\n');
    const ends = [tried, ending ?? at].filter(Boolean).join('\n\n');
    showJob(progress, { ending: ends, failure: this.failure?.type });
  }
}
