import {
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import type { InspectedSubmit } from '../activities/submit/submit-note';
import { cleanText } from '../src/contract/clean-text';
import { parseLastFrameUrl } from '../src/contract/continue-from';
import { mayHaveMadeTask } from '../src/contract/failure-table';
import { serviceQueueOf } from '../src/contract/names';
import { INSPECT_SUBMIT_POLICY, LAST_FRAME_POLICY, SUBMIT_POLICY } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { readChoice } from '../src/contract/service-choice';
import { describeLastFrame, describeRequest } from '../src/contract/summaries';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/video-failure';
import { waitForDecision } from './decisions';
import { type Submitted, submitInTurn } from './fallback';
import type { Job } from './job';
import { lastNote, recall, recordNotedTask, withImage, writeToRecord } from './known-submit';
import { logJob } from './log-event';
import { lostAtOf } from './lost-at';
import { namesReceiver } from './notify';

/** Pays for one task. A lost submit is sent again only if somebody decides so, or if `onLostSubmit` says `resubmit`. */
export async function submit(job: Job): Promise<string> {
  const { lostSubmit } = job.hold;
  let submitted: Submitted = lostSubmit ? { lostSubmit } : await submitFirst(job);
  while ('lostSubmit' in submitted) {
    const found = await waitForDecision(job, submitted.lostSubmit);
    if (found !== undefined) return adopt(job, found);
    submitted = await submitOrHold(job, true);
  }
  return submitted.taskId;
}

/** Not a promise of its own: items of batches that were recorded without it must act in the same order. */
function submitFirst(job: Job): Promise<Submitted> {
  const submitted = () => submitOrHold(job, false);
  return job.turns ? submitInTurn(job, job.turns, submitted) : submitted();
}

async function adopt(job: Job, taskId: string): Promise<string> {
  job.adoptTask(taskId);
  logJob(job, 'adopted');
  const { task } = await writeToRecord(job, taskId);
  if (task) job.recordSettings(task);
  return taskId;
}

/** The task, or the lost submit to hold. Every other failure ends the job. */
async function submitOrHold(job: Job, resubmits: boolean): Promise<Submitted> {
  try {
    const submitted = await submitOnce(job, resubmits);
    job.recordSubmitted(submitted);
    return submitted;
  } catch (error) {
    job.recordReceiver(namesReceiver(error));
    const lostSubmit = readLostSubmit(error);
    if (lostSubmit === undefined) throw error;
    job.recordLostAt(lostAtOf(error));
    if (readTimeout(error)) return recallOrHold(job, lostSubmit, error);
    if (job.lostSubmitPolicy(lostSubmit) === 'hold') return { lostSubmit };
    throw error;
  }
}

async function submitOnce(job: Job, resubmits: boolean): Promise<SubmittedTask> {
  job.enter('submitting');
  const loaded = job.loadRequest();
  // Each promise of a workflow costs the worker a stack trace, and most requests are there already.
  const request = loaded instanceof Promise ? await loaded : loaded;
  if (job.remainingMs() === 0) return afterDeadline(job, resubmits);
  const continuesFrom = parseLastFrameUrl(request.image_url);
  if (continuesFrom !== undefined) {
    job.image ??= await takeLastFrameOf(continuesFrom, job, { request, resubmits });
    // It took time, and Temporal takes a timeout of 0 for none.
    if (job.remainingMs() === 0) return afterDeadline(job, resubmits);
  }
  const { idempotencyKey, onLostSubmit, cap, caller } = job.options;
  // A submit that repeats a lost one stays with its service until the deadline.
  const { turnMs, startWithinMs } = resubmits ? {} : job;
  const { submitVideo } = proxyActivities<VideoActivities>({
    ...SUBMIT_POLICY,
    ...job.activityId('submit'),
    taskQueue: submitQueue(job),
    scheduleToCloseTimeout: job.remainingMs(),
    ...(startWithinMs !== undefined && { scheduleToStartTimeout: startWithinMs }),
    summary: job.titled(describeRequest(request)),
  });
  const input = {
    ...job.named,
    ...job.forService,
    request,
    idempotencyKey: idempotencyKey ?? undefined,
    onLostSubmit: onLostSubmit ?? undefined,
    resubmits,
    resetRuns: job.host.resetRuns,
    decidedLostSubmit: job.hold.decidedLostSubmit,
    cap: cap ?? undefined,
    batchCap: job.host.batchCap,
    caller: caller ?? undefined,
    ledgerQueue: workflowInfo().taskQueue,
    takesCost: true,
    ...withImage(job),
    ...(job.turns && { fallback: turnMs === undefined ? {} : { afterMs: turnMs } }),
  } as const;
  return inspectBeforeCancelling(job, () => submitVideo(input));
}

/** Nothing is sent any more. The answer to an earlier request may have arrived since. */
async function afterDeadline(job: Job, resubmits: boolean): Promise<SubmittedTask> {
  const { task } = resubmits ? await recall(job) : {};
  if (task) return task;
  throw createFailure('DeadlineExceeded');
}

/** Where submits have a queue of their own, each named service has one. */
function submitQueue({ options: { queues }, service }: Job): string | undefined {
  const { submit } = queues ?? {};
  return submit == null || service === undefined
    ? (submit ?? undefined)
    : serviceQueueOf(submit, service.name);
}

/**
 * Before the submit, in an activity of its own: it may take longer than a submit may, and its result stays the same for every
 * attempt of the submit. Only jobs that continue from another one have it.
 */
async function takeLastFrameOf(
  from: string,
  job: Job,
  submit: { request: VideoRequest; resubmits: boolean },
): Promise<string | undefined> {
  const { takeLastFrame } = proxyActivities<VideoActivities>({
    ...LAST_FRAME_POLICY,
    ...job.activityId('last-frame'),
    taskQueue: job.options.queues?.download ?? undefined,
    scheduleToCloseTimeout: job.remainingMs(),
    summary: job.titled(describeLastFrame(from)),
  });
  try {
    return (await takeLastFrame({ ...job.named, ...job.forService, from, ...submit })).image;
  } catch (error) {
    if (readTimeout(error) === undefined) throw error;
    // Nothing was sent: the timeout of a submit would count as a lost one.
    throw createFailure('DeadlineExceeded', { message: `${describeLastFrame(from)} was not taken in time` });
  }
}

/** The failure of a lost submit; undefined when the submit certainly made no task. */
function readLostSubmit(error: unknown): VideoFailure | undefined {
  const timeout = readTimeout(error);
  if (timeout === undefined) {
    const failure = readFailure(error);
    return failure?.type === 'SubmitUnconfirmed' ? failure : undefined;
  }
  const { during, last } = timeout;
  if (during === 'never-started' || during === 'never-decrypted') return undefined;
  if (last && !mayHaveMadeTask(last)) return undefined;
  return new VideoFailure('SubmitUnconfirmed', { message: 'it timed out before its result was known' });
}

/** After a timeout, the last heartbeat or the job record may name the task, or say that there is none. */
async function recallOrHold(job: Job, { type, details }: VideoFailure, error: unknown): Promise<Submitted> {
  const note = lastNote(error);
  if (typeof note.taskId === 'string') return recordNotedTask(job, note.taskId);
  const { task, madeNoTask, lostAt, onLostSubmit, hasReceiver } = await recall(job);
  job.recordReceiver(hasReceiver);
  if (task) {
    job.recordSubmitted(task);
    return task;
  }
  // Without shared storage this worker may read a record that is older than the last worker's heartbeat, or than its POST. At
  // the deadline nothing follows. Before it, the submit would be sent once more.
  const isOver = job.turns === undefined || job.remainingMs() === 0;
  if (madeNoTask && note.sending === undefined && isOver) throw error;
  const chosen = readChoice(note.service);
  job.recordLostAt(chosen ? { service: chosen } : lostAt);
  const policy = job.options.onLostSubmit ?? onLostSubmit;
  const lostSubmit = new VideoFailure(type, { ...details, onLostSubmit: policy });
  if (job.lostSubmitPolicy(lostSubmit) === 'hold') return { lostSubmit };
  // The deadline is over, so nothing is submitted again. The timeout itself would become a DeadlineExceeded that does not
  // mention the task that may exist.
  throw createFailure(lostSubmit.type, lostSubmit.details);
}

/**
 * Submits so that a cancellation hides no lost submit. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and its heartbeat notes are gone. So the notes are read first, and then the submit is cancelled.
 */
async function inspectBeforeCancelling(
  job: Job,
  submitVideo: () => Promise<SubmittedTask>,
): Promise<SubmittedTask> {
  const { cancelRequested, consideredCancelled } = CancellationScope.current();
  // Fails at once, with nothing sent.
  if (consideredCancelled) return submitVideo();
  // A cancellation of the job does not reach it: only this function cancels it.
  const shield = new CancellationScope({ cancellable: false });
  const sending = new CancellationScope({ cancellable: true, parent: shield });
  let isOver = false;
  let inspecting: Promise<InspectedSubmit> | undefined;
  void cancelRequested.catch(async () => {
    if (isOver) return;
    inspecting = CancellationScope.nonCancellable(() => inspectSubmit(job));
    await inspecting;
    sending.cancel();
  });
  try {
    const submitted = await sending.run(submitVideo);
    isOver = true;
    if (inspecting) await inspecting;
    return submitted;
  } catch (error) {
    isOver = true;
    const { taskId, lostSubmit, service }: InspectedSubmit = inspecting ? await inspecting : {};
    // A failure of the running attempt says more than the cancellation.
    if (!isCancellation(error)) throw error;
    if (taskId !== undefined) return recordNotedTask(job, taskId);
    if (lostSubmit === undefined) throw error;
    if (service) job.recordLostAt({ service });
    throw createFailure('SubmitUnconfirmed', { message: lostSubmit });
  }
}

/** A local activity is quick: until it returns, a submit that is no longer wanted may still be sent. */
async function inspectSubmit(job: Job): Promise<InspectedSubmit> {
  const { inspectPendingSubmit } = proxyLocalActivities<VideoActivities>({
    ...INSPECT_SUBMIT_POLICY,
    summary: job.titled('read the notes of the cancelled submit'),
  });
  try {
    return await inspectPendingSubmit(job.activityId('submit'));
  } catch (error) {
    logJob(job, 'submitNotInspected', { error: cleanText(String(error)) });
    return { lostSubmit: 'it could not be read how its attempts ended' };
  }
}
