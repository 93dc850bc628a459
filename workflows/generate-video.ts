import {
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import { createFailure, readFailure, VideoFailure } from '../src/contract/failures';
import type { CarriedJob, JobInput, JobResult, Look } from '../src/contract/job';
import * as policy from '../src/contract/policies';
import { describeRequest, describeTask } from '../src/contract/summaries';
import { explainEnd } from './explain-end';
import { JobState } from './job-state';
import { lostSubmit, untilDecided } from './lost-submit';
import { answerMessages } from './messages';

/** One request in; one stored video or one explained failure out. */
export async function generateVideo(input: JobInput, carried?: CarriedJob): Promise<JobResult> {
  const job = new JobState(input, carried);
  answerMessages(job);
  try {
    const taskId = job.taskId ?? (await submit(job));
    await waitForVideo(job, taskId);
    return await download(job, taskId);
  } catch (error) {
    throw await explainEnd(job, error);
  }
}

/** Pays for one task. What is lost is never sent again unless somebody who looked for the task says so. */
async function submit(job: JobState): Promise<string> {
  for (let resubmits = false; ; resubmits = true) {
    try {
      const { taskId, polling } = await submitOnce(job, resubmits);
      job.hasTask(taskId, polling);
      return taskId;
    } catch (error) {
      const lost = lostSubmit(error);
      if (lost === undefined || job.lostSubmitPolicy(lost) !== 'hold') throw error;
      const found = await untilDecided(job, lost);
      if (found !== undefined) {
        job.adopts(found);
        return found;
      }
    }
  }
}

async function submitOnce(job: JobState, resubmits: boolean): Promise<SubmittedTask> {
  job.enter('submitting');
  if (job.remainingMs() === 0) throw createFailure('DeadlineExceeded');
  const { queues, idempotencyKey, onLostSubmit } = job.input;
  const { submitVideo } = proxyActivities<VideoActivities>({
    ...policy.SUBMIT_POLICY,
    taskQueue: queues?.submit ?? undefined,
    scheduleToCloseTimeout: job.remainingMs(),
    summary: describeRequest(job.request),
  });
  const { runId, originalExecutionRunId, continuedFromExecutionRunId } = workflowInfo();
  return submitVideo({
    request: job.request,
    idempotencyKey: idempotencyKey ?? undefined,
    onLostSubmit: onLostSubmit ?? undefined,
    resubmits,
    hasEarlierRuns: runId !== originalExecutionRunId || continuedFromExecutionRunId !== undefined,
  });
}

async function waitForVideo(job: JobState, taskId: string): Promise<void> {
  job.enter('waiting');
  for (;;) {
    if (job.historyIsLong()) await continueLater(job, taskId);
    await untilNextLook(job);
    const look = await lookAt(job, taskId);
    switch (look?.state) {
      case 'succeeded':
        if (look.hasVideo) return;
        if (job.videoIsMissing()) throw createFailure('NoVideo');
        break;
      case 'failed':
        throw createFailure('GenerationFailed', { code: look.code, message: look.message ?? look.word });
      case 'cancelled':
        throw createFailure('GenerationCancelled', { code: look.code, message: look.message ?? look.word });
      case 'unknown':
        if (job.isNewWord(look.word)) log.warn('unknown state, looking on', { taskId, state: look.word });
    }
    if (job.remainingMs() === 0) throw createFailure('DeadlineExceeded', { message: job.lastSeen() });
  }
}

async function download(job: JobState, taskId: string): Promise<JobResult> {
  const waitedMs = job.waitedMs();
  job.enter('downloading');
  const { downloadVideo } = proxyActivities<VideoActivities>({
    ...policy.DOWNLOAD_POLICY,
    taskQueue: job.input.queues?.download ?? undefined,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), policy.DOWNLOAD_AT_LEAST_MS),
    summary: describeTask(taskId),
  });
  const { request, storage, keepBad } = job.input;
  const { video, warnings } = await downloadVideo({
    taskId,
    request: request ?? undefined,
    storage: storage ?? undefined,
    keepBad: keepBad ?? undefined,
    startedAtMs: job.startedAtMs,
  });
  job.succeeded(video, warnings);
  return { taskId, video, seed: request?.seed, polls: job.polls, waitedMs, warnings };
}

/** The same job with a fresh history. The memo, which names the task, has to be taken along by hand. */
async function continueLater(job: JobState, taskId: string): Promise<never> {
  const continueAsNew = makeContinueAsNewFunc<typeof generateVideo>({ memo: workflowInfo().memo });
  return continueAsNew(job.input, job.carry(taskId));
}

/** A durable timer, cut short by `lookNow`. */
async function untilNextLook(job: JobState): Promise<void> {
  const waitMs = job.planNextLook();
  if (waitMs === 0) return;
  await condition(() => job.lookRequested, waitMs, { summary: `next look in ${describeDuration(waitMs)}` });
  job.lookRequested = false;
}

/** One look. A fault while looking never ends a paid job: it is noted, shown, and looked past until the deadline. */
async function lookAt(job: JobState, taskId: string): Promise<Look | undefined> {
  const { checkVideo } = proxyActivities<VideoActivities>({
    ...policy.CHECK_POLICY,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), policy.CHECK_AT_LEAST_MS),
    summary: `look ${job.polls + 1}`,
  });
  try {
    const look = await checkVideo({ taskId });
    job.looked(look);
    return look;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    job.lookFailed(failure);
    if (failure.type === 'TaskUnknown' && job.taskIsGone()) throw error;
    return undefined;
  }
}
