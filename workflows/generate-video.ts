import { allHandlersFinished, CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { JobInput, JobResult } from '../src/contract/job';
import { DOWNLOAD_AT_LEAST_MS, DOWNLOAD_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { readFailure } from '../src/contract/video-failure';
import type { CarriedJob } from './carried-over';
import { explainFailure } from './end';
import { checkInput } from './input';
import { Job } from './job';
import { measureEnd, measureOutcome } from './measure';
import { answerMessages } from './messages';
import { notifyReceiver } from './notify';
import { pollUntilReady } from './poll';
import { ifContinued } from './runs';
import { submit } from './submit';
import { adoptGivenTask, checkService } from './task';
import { updateSearchAttributes } from './ui-details';

/**
 * One request in; one stored video or one explained failure out.
 *
 * @example
 * ```ts
 * const { video } = await executeChild(generateVideo, { args: [{ request: { prompt: 'A red fox in the snow' } }] });
 * ```
 */
export async function generateVideo(input: JobInput, carried?: CarriedJob): Promise<JobResult> {
  const job = startJob(input, ifContinued(carried));
  answerMessages(job);
  try {
    const result = await makeVideo(job);
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

/** Submit, poll, download. */
async function makeVideo(job: Job): Promise<JobResult> {
  if (job.taskId === undefined) {
    await checkService(job);
    if (job.input.taskId != null) await adoptGivenTask(job, job.input.taskId);
    else await submit(job, job.input.request);
  }
  if (!job.isStored) await pollUntilReady(job);
  return download(job);
}

async function download(job: Job): Promise<JobResult> {
  const waitedMs = job.waitedMs();
  job.enter('downloading');
  const { expected, record, startedAtMs, cost, service, ownTaskId: taskId } = job;
  const { queues, storage, keepBad } = job.input;
  const { downloadVideo } = proxyActivities<VideoActivities>({
    ...DOWNLOAD_POLICY,
    taskQueue: queues?.download ?? undefined,
    scheduleToCloseTimeout: Math.max(job.remainingMs(), DOWNLOAD_AT_LEAST_MS),
    summary: describeTask(taskId),
  });
  const { video, warnings } = await downloadVideo({
    taskId,
    service,
    expected,
    record,
    storage: storage ?? undefined,
    keepBad: keepBad ?? undefined,
    startedAtMs,
    ended: job.observed.endedTask(job.kind),
    cost,
  });
  job.markSucceeded(video, warnings);
  measureEnd(job);
  const { polls } = job.observed;
  return {
    taskId,
    video,
    seed: expected?.seed,
    polls,
    waitedMs,
    warnings,
    ...(cost && { cost }),
    ...(service && { service }),
  };
}

function startJob(input: JobInput, carried: CarriedJob | undefined): Job {
  try {
    checkInput(input);
    return new Job(input, carried);
  } catch (error) {
    // A refused input never becomes a job that could report its own end.
    const failure = readFailure(error)?.type;
    updateSearchAttributes({ phase: 'failed', failure });
    if (failure !== undefined) measureOutcome(failure);
    throw error;
  }
}
