import {
  allHandlersFinished,
  CancellationScope,
  condition,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { ExpectedVideo, JobInput, JobResult } from '../src/contract/job';
import { SERVICE_MEMO } from '../src/contract/names';
import {
  ADOPT_POLICY,
  ASK_WORKER_POLICY,
  DOWNLOAD_AT_LEAST_MS,
  DOWNLOAD_POLICY,
} from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { describeTask } from '../src/contract/summaries';
import { explainFailure, measureEnd } from './end';
import { checkInput, refused } from './input';
import { Job } from './job';
import { answerMessages } from './messages';
import { pollUntilReady } from './poll';
import { type CarriedJob, ifContinued } from './runs';
import { submit } from './submit';
import { noticeUnserved } from './unserved';

/**
 * One request in; one stored video or one explained failure out.
 *
 * @example
 * ```ts
 * const { video } = await executeChild(generateVideo, { args: [{ request: { prompt: 'A red fox in the snow' } }] });
 * ```
 */
export async function generateVideo(input: JobInput, carried?: CarriedJob): Promise<JobResult> {
  // It may be anything, and is checked where a refusal ends the job like any other failure.
  const job = new Job(input, ifContinued(carried));
  answerMessages(job);
  try {
    return await makeVideo(job);
  } catch (error) {
    const failure = await explainFailure(job, error);
    if (job.failure) {
      await job.notifyReceiver('video.failed');
      // Callers that wait for the task id get their answer before the workflow closes.
      await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    }
    throw failure;
  }
}

/** Submit, poll, download. */
async function makeVideo(job: Job): Promise<JobResult> {
  checkInput(job.input, job.name);
  if (job.known.taskId === undefined) {
    await findRoute(job);
    if (job.input.taskId !== undefined) await adoptGivenTask(job, job.input.taskId);
    else await submit(job, job.input.request);
  }
  if (!job.isStored) await pollUntilReady(job);
  return download(job);
}

/**
 * Asks the worker where submits and downloads are done, and for the service: a submit to one that no worker has would wait until
 * the deadline. Clients of ours with the list of services have checked the name and note it in a memo: if this worker does not
 * know it yet, another one does.
 */
async function findRoute({ known }: Job): Promise<void> {
  const { service } = known;
  const { routeJob } = proxyLocalActivities<VideoActivities>({ ...ASK_WORKER_POLICY, summary: 'queues' });
  const { problem, ...route } = await routeJob({ service });
  if (problem !== undefined && service !== workflowInfo().memo?.[SERVICE_MEMO]) throw refused(problem);
  known.route = route;
}

/** Takes over the task that the job was started for, until the deadline: it is paid for, whatever fails now. */
async function adoptGivenTask(job: Job, taskId: string): Promise<void> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    scheduleToCloseTimeout: job.remainingMs(),
    retry: { ...ADOPT_POLICY.retry, maximumAttempts: undefined },
    summary: describeTask(taskId),
  });
  const { caller } = job.input;
  job.recordAdopted(await adoptTask({ taskId, service: job.known.service, caller }));
}

/** Images and prompts need not travel. */
export function expectedOf({ resolution, aspect_ratio, duration, seed }: VideoRequest): ExpectedVideo {
  const facts = { resolution, aspect_ratio, duration, seed };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value != null));
}

async function download(job: Job): Promise<JobResult> {
  const waitedMs = job.waitedMs();
  job.enter('downloading');
  const { ownTaskId: taskId } = job;
  const { record, startedAtMs, cost, service, route } = job.known;
  const { storage, request, caller } = job.input;
  const expected = request && expectedOf(request);
  const { downloadVideo } = proxyActivities<VideoActivities>({
    ...DOWNLOAD_POLICY,
    taskQueue: route?.download,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), DOWNLOAD_AT_LEAST_MS),
    summary: describeTask(taskId),
  });
  const given = { taskId, service, expected, record, storage, startedAtMs, cost, caller };
  const { video, warnings } = await noticeUnserved(job, route?.download, () => downloadVideo(given));
  job.markSucceeded(video, warnings);
  measureEnd(job);
  await job.notifyReceiver('video.completed');
  const { polls } = job.known;
  const result = { taskId, video, seed: expected?.seed, polls, waitedMs, warnings };
  return { ...result, ...(cost && { cost }), ...(service && { service }) };
}
