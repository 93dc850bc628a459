import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  log,
  proxyActivities,
  setCurrentDetails,
  TimeoutFailure,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { RecalledSubmit, SubmittedTask, VideoActivities } from '../activities';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/failures';
import type { CarriedJob, JobInput, JobResult, TaskStatus } from '../src/contract/job';
import { type JobIdentity, shortIdentity } from '../src/contract/job-identity';
import { LOST_SUBMIT_MEMO, TASK_ID_MEMO } from '../src/contract/names';
import * as policy from '../src/contract/policies';
import { describeRequest, describeTask } from '../src/contract/summaries';
import { expectedOf } from '../src/contract/video-facts';
import { explainFailure } from './end';
import { checkInput, refused } from './input';
import { Job, type JobHost } from './job';
import { lostSubmit, tellingIfLost, waitForDecision } from './lost-submit';
import { answerMessages } from './messages';
import { pollInOwnWorkflow } from './poll';
import { ifContinued, resetRunsSince } from './runs';
import { currentDetails, keepSearchable } from './ui-details';

/** One request in; one stored video or one explained failure out. */
export async function generateVideo(input: JobInput, carried?: CarriedJob): Promise<JobResult> {
  const job = beginJob(input, ifContinued(carried));
  answerMessages(job);
  try {
    return await makeVideo(job, pollInOwnWorkflow(input));
  } catch (error) {
    const end = await explainFailure(job, error);
    // Whoever waits for the task id is answered before the job closes.
    if (job.failure) await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    throw end;
  }
}

function beginJob(input: JobInput, carried: CarriedJob | undefined): Job {
  try {
    checkInput(input);
    const job = new Job(input, ownWorkflow(input, carried), carried);
    if (input.request != null) job.expected = expectedOf(input.request);
    if (carried === undefined && input.taskId != null) job.adoptTask(input.taskId);
    return job;
  } catch (error) {
    // An input that is refused has no job that could tell of its end.
    keepSearchable({ phase: 'failed', failure: readFailure(error)?.type });
    throw error;
  }
}

/** The next look at a task, when its time has come; undefined when it showed nothing. */
export type NextPoll = (job: Job, taskId: string) => Promise<TaskStatus | undefined>;

/** Submit, wait, download. */
export async function makeVideo(job: Job, nextLook: NextPoll): Promise<JobResult> {
  const taskId = job.taskId ?? (await submit(job));
  if (!job.isStored) await waitForVideo(job, taskId, nextLook);
  return download(job, taskId);
}

type Submitted = { taskId: string } | { lost: VideoFailure };

/** Pays for one task. What is lost is never sent again unless somebody who looked for the task says so. */
async function submit(job: Job): Promise<string> {
  const { heldSubmit } = job;
  let submitted: Submitted = heldSubmit ? { lost: heldSubmit } : await submitOrHold(job, false);
  while ('lost' in submitted) {
    const found = await waitForDecision(job, submitted.lost);
    if (found !== undefined) {
      job.adoptTask(found);
      const { task } = await recall(job, found);
      if (task) job.recordSettings(task);
      return found;
    }
    submitted = await submitOrHold(job, true);
  }
  return submitted.taskId;
}

/** The task, or the loss that is to be held; one that is not to be held ends the job, as everything else does. */
async function submitOrHold(job: Job, resubmits: boolean): Promise<Submitted> {
  try {
    const submitted = await submitOnce(job, resubmits);
    job.recordSubmitted(submitted);
    return submitted;
  } catch (error) {
    const lost = lostSubmit(error);
    if (lost === undefined) throw error;
    if (readTimeout(error)) return recallOrHold(job, lost, error);
    if (job.lostSubmitPolicy(lost) === 'hold') return { lost };
    throw error;
  }
}

/** Of a submit whose time ran out: how its last attempt ended is on record, or nobody knows. */
async function recallOrHold(job: Job, { type, details }: VideoFailure, error: unknown): Promise<Submitted> {
  const { task, madeNoTask, onLostSubmit } = await recall(job);
  if (task) {
    job.recordSubmitted(task);
    return task;
  }
  // The record of a worker that shares no storage with the last one may be older than what that one noted.
  if (madeNoTask && !wasSending(error)) throw error;
  const lost = new VideoFailure(type, { ...details, onLostSubmit: job.options.onLostSubmit ?? onLostSubmit });
  if (job.lostSubmitPolicy(lost) === 'hold') return { lost };
  // Time that ran out would be told as the deadline's, without a word of the task that may exist.
  throw createFailure(lost.type, lost.details);
}

function wasSending(error: unknown): boolean {
  const { cause } = error instanceof ActivityFailure ? error : {};
  if (!(cause instanceof TimeoutFailure)) return false;
  return Object(cause.lastHeartbeatDetails).sending !== undefined;
}

/** What the storage has on record; nothing when it cannot be asked, for then the job goes on as if it had none. */
async function recall(job: Job, adopts?: string): Promise<Partial<RecalledSubmit>> {
  return CancellationScope.nonCancellable(async () => {
    try {
      const request = await job.loadRequest();
      const { recallSubmit } = proxyActivities<VideoActivities>({
        ...policy.RECALL_POLICY,
        ...job.activityId('recall'),
        summary: job.titled(adopts === undefined ? 'what is on record' : describeTask(adopts)),
      });
      return await recallSubmit({ ...job.named, request, adopts });
    } catch (error) {
      log.warn('the record of the job could not be asked', { error: String(error) });
      return {};
    }
  });
}

async function submitOnce(job: Job, resubmits: boolean): Promise<SubmittedTask> {
  job.enter('submitting');
  const request = await job.loadRequest();
  if (job.remainingMs() === 0) {
    // The answer to what was sent before may have come since.
    const { task } = resubmits ? await recall(job) : {};
    if (task) return task;
    throw createFailure('DeadlineExceeded');
  }
  const { queues, idempotencyKey, onLostSubmit } = job.options;
  const { submitVideo } = proxyActivities<VideoActivities>({
    ...policy.SUBMIT_POLICY,
    ...job.activityId('submit'),
    taskQueue: queues?.submit ?? undefined,
    scheduleToCloseTimeout: job.remainingMs(),
    summary: job.titled(describeRequest(request)),
  });
  const input = {
    ...job.named,
    request,
    idempotencyKey: idempotencyKey ?? undefined,
    onLostSubmit: onLostSubmit ?? undefined,
    resubmits,
    resetRuns: job.host.resetRuns,
    settled: job.settled,
  };
  return tellingIfLost(job, () => submitVideo(input));
}

async function waitForVideo(job: Job, taskId: string, nextLook: NextPoll): Promise<void> {
  job.enter('waiting');
  for (;;) {
    const look = await nextLook(job, taskId);
    switch (look?.state) {
      case 'succeeded':
        if (look.hasVideo) return;
        if (job.observed.videoIsMissing) throw createFailure('NoVideo');
        break;
      case 'failed':
        throw createFailure('GenerationFailed', { code: look.code, message: look.message ?? look.word });
      case 'cancelled':
        throw createFailure('GenerationCancelled', { code: look.code, message: look.message ?? look.word });
      case 'unknown':
        if (job.observed.isNewWord(look.word))
          log.warn('unknown state, looking on', { taskId, state: look.word });
    }
    if (job.remainingMs() === 0)
      throw createFailure('DeadlineExceeded', { message: job.observed.lastSeen() });
  }
}

async function download(job: Job, taskId: string): Promise<JobResult> {
  const waitedMs = job.waitedMs();
  job.enter('downloading');
  const { downloadVideo } = proxyActivities<VideoActivities>({
    ...policy.DOWNLOAD_POLICY,
    ...job.activityId('download'),
    taskQueue: job.options.queues?.download ?? undefined,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), policy.DOWNLOAD_AT_LEAST_MS),
    summary: job.titled(describeTask(taskId)),
  });
  const { expected } = job;
  const { storage, keepBad } = job.options;
  const { video, warnings } = await downloadVideo({
    ...job.named,
    taskId,
    expected,
    record: job.record,
    storage: storage ?? undefined,
    keepBad: keepBad ?? undefined,
    startedAtMs: job.startedAtMs,
  });
  job.markSucceeded(video, warnings);
  return { taskId, video, seed: expected?.seed, polls: job.observed.polls, waitedMs, warnings };
}

/**
 * A job that is its workflow: the workflow's details tell its story, its memo the task, without a worker, and its search
 * attributes where it is.
 */
function ownWorkflow({ request, taskId }: JobInput, carried: CarriedJob | undefined): JobHost {
  const { workflowId } = workflowInfo();
  let wasHeld = false;
  let wanted: JobIdentity | undefined;
  return {
    name: workflowId,
    get identity() {
      wanted ??= shortIdentity({ request: request ?? undefined, taskId: taskId ?? undefined });
      return wanted;
    },
    warnedWords: new Set(carried?.warnedWords),
    loadRequest: async () => {
      if (request == null) throw refused('there is no request');
      return request;
    },
    // One that was continued has its task, and submits no more.
    resetRuns: resetRunsSince(undefined),
    changed: (job) => {
      const progress = job.progress();
      if (progress.hold && !wasHeld) {
        wasHeld = true;
        upsertMemo({ [LOST_SUBMIT_MEMO]: progress.hold.since });
      }
      setCurrentDetails(currentDetails(progress, job.ending, workflowId));
      keepSearchable({ ...progress, failure: job.failure?.type });
    },
    recordTask: (taskId) => upsertMemo({ [TASK_ID_MEMO]: taskId }),
  };
}
