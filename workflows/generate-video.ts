import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { CarriedJob } from '../src/contract/carried-over';
import { cleanText } from '../src/contract/clean-text';
import { withLastFrame } from '../src/contract/continue-from';
import type { StoredExtras } from '../src/contract/extras';
import type { JobInput, JobProgress, JobResult, StoredVideo } from '../src/contract/job';
import { type JobIdentity, shortIdentity } from '../src/contract/job-identity';
import {
  COST_MEMO,
  EXPIRES_MEMO,
  LOST_SUBMIT_MEMO,
  PERCENT_MEMO,
  SERVICE_KEY_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
} from '../src/contract/names';
import {
  DOWNLOAD_AT_LEAST_MS,
  DOWNLOAD_POLICY,
  EXTRAS_POLICY,
  FIND_SERVICE_POLICY,
} from '../src/contract/policies';
import { choicesOf, type ServiceChoice } from '../src/contract/service-choice';
import { describeExtras, describeTask } from '../src/contract/summaries';
import { expectedOf } from '../src/contract/video-facts';
import { createFailure, readFailure } from '../src/contract/video-failure';
import { explainFailure } from './end';
import { checkInput, refused } from './input';
import { Job, type JobHost } from './job';
import { logJob } from './log-event';
import { measureEnd, measureReady, measureRefused } from './measure';
import { answerMessages } from './messages';
import { notifyReceiver } from './notify';
import { isReady, ownPoller, type Poller } from './poll';
import { ifContinued, resetRunsSince } from './runs';
import { submit } from './submit';
import { currentDetails, updateSearchAttributes } from './ui-details';

const PERCENT_STEP = 25;

/**
 * One request in; one stored video or one explained failure out.
 *
 * @example
 * ```ts
 * const { video } = await executeChild(generateVideo, { args: [{ request: { prompt: 'A red fox in the snow' } }] });
 * ```
 */
export async function generateVideo(input: JobInput, carried?: CarriedJob): Promise<JobResult> {
  const fromBefore = ifContinued(carried);
  const vouchedFor = workflowInfo().memo?.[SERVICE_MEMO];
  const job = startJob(input, fromBefore);
  answerMessages(job);
  try {
    if (fromBefore === undefined && job.service?.name !== vouchedFor) await checkService(job);
    const result = await makeVideo(job, ownPoller(input));
    await notifyReceiver(job, 'video.completed');
    return result;
  } catch (error) {
    const failure = await explainFailure(job, error);
    if (job.failure) {
      await notifyReceiver(job, 'video.failed');
      // Callers that wait for the task id get their answer before the workflow closes.
      await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    }
    throw failure;
  }
}

/** Submit, poll, download: the way of every job, alone or in a batch. */
export async function makeVideo(job: Job, poller: Poller): Promise<JobResult> {
  const taskId = job.taskId ?? (await submit(job));
  if (!job.isStored) await pollUntilReady(job, taskId, poller);
  return download(job, taskId);
}

async function pollUntilReady(job: Job, taskId: string, poller: Poller): Promise<void> {
  job.enter('waiting');
  // A run that continues another has said it.
  if (job.observed.polls === 0) logJob(job, 'waiting');
  for (;;) {
    await poller.continueAsNewIfLong(job);
    const status = await poller.nextStatus(job, taskId);
    if (isReady(job, status)) {
      measureReady(job);
      logReady(job);
      return;
    }
    if (status?.state === 'unknown' && job.observed.isNewWord(status.word)) {
      logJob(job, 'unknownState', { state: status.word });
    }
    if (job.remainingMs() === 0)
      throw createFailure('DeadlineExceeded', { message: job.observed.lastSeen() });
  }
}

function logReady(job: Job): void {
  logJob(job, 'ready', { polls: job.observed.polls, waitedMs: job.waitedMs() });
}

async function download(job: Job, taskId: string): Promise<JobResult> {
  const waitedMs = job.waitedMs();
  job.enter('downloading');
  const { expected, record, startedAtMs, endedTask: ended, cost } = job;
  const { queues, storage, keepBad, keepFor } = job.options;
  const { downloadVideo } = proxyActivities<VideoActivities>({
    ...DOWNLOAD_POLICY,
    ...job.activityId('download'),
    taskQueue: queues?.download ?? undefined,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), DOWNLOAD_AT_LEAST_MS),
    summary: job.titled(describeTask(taskId)),
  });
  const { video, warnings: noticed } = await downloadVideo({
    ...job.named,
    ...job.forService,
    taskId,
    expected,
    record,
    storage: storage ?? undefined,
    keepBad: keepBad ?? undefined,
    keepFor: keepFor ?? undefined,
    startedAtMs,
    ended,
    cost,
  });
  if (video.expiresAt !== undefined) job.recordExpiry(video.expiresAt);
  const { extras, warnings: missing } = await makeExtras(job, taskId, video);
  const warnings = [...noticed, ...missing];
  job.markSucceeded(video, warnings, extras);
  measureEnd(job);
  const { polls } = job.observed;
  return {
    taskId,
    video,
    seed: expected?.seed,
    polls,
    waitedMs,
    warnings,
    ...(extras && { extras }),
    ...(cost && { cost }),
    ...(job.service && { service: job.service.name }),
    ...(job.turns && { attempts: job.turns.attempts }),
  };
}

/** Only for a job that asks for them. The video is paid and stored: whatever is wrong with its pictures does not fail the job. */
async function makeExtras(
  job: Job,
  taskId: string,
  video: StoredVideo,
): Promise<{ extras?: StoredExtras; warnings: string[] }> {
  const { extras: wanted, queues } = job.options;
  if (wanted == null || wanted.length === 0) return { warnings: [] };
  const activities = proxyActivities<VideoActivities>({
    ...EXTRAS_POLICY,
    ...job.activityId('extras'),
    taskQueue: queues?.download ?? undefined,
    summary: job.titled(describeExtras(wanted)),
  });
  try {
    return await activities.makeExtras({ ...job.named, taskId, video, extras: wanted, record: job.record });
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    const reason = cleanText(readFailure(error)?.message ?? String(error.cause ?? error));
    logJob(job, 'extrasNotMade', { extras: wanted, reason });
    return { extras: {}, warnings: [`the extras were not made: ${reason.replace(/\.$/, '')}`] };
  }
}

function startJob(given: JobInput, carried: CarriedJob | undefined): Job {
  try {
    checkInput(given);
    const input = withLastFrame(given);
    const job = new Job(input, ownWorkflow(input, carried), carried);
    if (input.request != null) job.expected = expectedOf(input.request);
    if (carried === undefined && input.taskId != null) {
      job.adoptTask(input.taskId);
      logJob(job, 'adopted');
    }
    return job;
  } catch (error) {
    // A refused input never becomes a job that could report its own end.
    const failure = readFailure(error)?.type;
    updateSearchAttributes({ phase: 'failed', failure });
    if (failure !== undefined) measureRefused(failure);
    throw error;
  }
}

/** A job alone in its workflow shows itself in the workflow's details, memo and search attributes. */
function ownWorkflow({ request, taskId }: JobInput, carried: CarriedJob | undefined): JobHost {
  const { workflowId } = workflowInfo();
  let wasHeld = false;
  const updateCost = createCostMemo();
  let identity: JobIdentity | undefined;
  return {
    name: workflowId,
    get identity() {
      identity ??= shortIdentity({ request: request ?? undefined, taskId: taskId ?? undefined });
      return identity;
    },
    warnedWords: new Set(carried?.warnedWords),
    loadRequest: () => {
      if (request == null) throw refused('there is no request');
      return request;
    },
    // A job alone continues as new only once it has its task. It submits nothing then, so earlier resets do not matter.
    resetRuns: resetRunsSince(undefined),
    changed: (job) => {
      const progress = job.progress();
      if (progress.hold && !wasHeld) {
        wasHeld = true;
        upsertMemo({ [LOST_SUBMIT_MEMO]: progress.hold.since });
      }
      updatePercent(progress);
      updateCost(progress);
      setCurrentDetails(currentDetails(progress, job.ending, workflowId));
      updateSearchAttributes({ ...progress, failure: job.failure?.type });
    },
    recordTask: (taskId, service) => upsertMemo({ [TASK_ID_MEMO]: taskId, ...serviceMemo(service) }),
    recordService: (service, from) => {
      const memo = serviceMemo(service);
      if (Object.keys(memo).length === 0) return;
      const isMoved = SERVICE_MEMO in memo && service?.name !== from?.name;
      // Workers before this one noted only that a job is at a service of another name.
      if (isMoved || patched('service-key-memo')) upsertMemo(memo);
    },
    // Workers before this one store videos for good, but one of them may have run this job until now.
    recordExpiry: (expiresAt) => {
      if (patched('expiry-memo')) upsertMemo({ [EXPIRES_MEMO]: expiresAt });
    },
  };
}

/** What the memo does not say yet. Whoever started the job may have noted its service already. */
function serviceMemo(service: ServiceChoice | undefined): Record<string, string | null> {
  const { memo } = workflowInfo();
  const changed = Object.entries({ [SERVICE_MEMO]: service?.name, [SERVICE_KEY_MEMO]: service?.key }).filter(
    ([name, value]) => value !== (memo?.[name] ?? undefined),
  );
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}

/**
 * Asks the worker for a service that nobody has vouched for: a submit to a service that no worker has would wait for one until
 * the deadline. Clients of ours with the list of services have checked the name and note it in a memo.
 */
async function checkService({ options }: Job): Promise<void> {
  for (const service of choicesOf(options)) {
    const { findService } = proxyLocalActivities<VideoActivities>({
      ...FIND_SERVICE_POLICY,
      summary: `service ${service.name}`,
    });
    const { problem } = await findService({ service });
    if (problem !== undefined) throw refused(problem);
  }
}

/** Jobs without the memo, and all those before it existed, write nothing. */
function updatePercent({ task }: JobProgress): void {
  const recorded = workflowInfo().memo?.[PERCENT_MEMO];
  if (typeof recorded !== 'number' || task?.percent === undefined) return;
  const percent = Math.min(Math.floor(task.percent), 99);
  if (Math.floor(percent / PERCENT_STEP) > Math.floor(recorded / PERCENT_STEP))
    upsertMemo({ [PERCENT_MEMO]: percent });
}

/**
 * Writes the cost to the memo when it changes. Jobs without prices and charges write nothing, and neither do those of earlier
 * versions, whose activities report no cost: see SubmitVideoInput.
 */
function createCostMemo(): (progress: JobProgress) => void {
  let written = JSON.stringify(workflowInfo().memo?.[COST_MEMO]);
  return ({ cost }) => {
    const changed = JSON.stringify(cost);
    if (changed === undefined || changed === written) return;
    written = changed;
    upsertMemo({ [COST_MEMO]: cost });
  };
}
