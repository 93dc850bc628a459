import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { InspectedSubmit, RecalledSubmit, SubmittedTask, VideoActivities } from '../activities';
import type { KnownTask } from '../activities/job-record';
import type { SubmitNote } from '../activities/submit/submit-note';
import { cleanText } from '../src/contract/clean-text';
import { describeDuration, durationMs } from '../src/contract/duration';
import { mayHaveMadeTask } from '../src/contract/lost-submit';
import { serviceQueueOf } from '../src/contract/names';
import { INSPECT_SUBMIT_POLICY, RECALL_POLICY, SUBMIT_POLICY } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { describeRequest, describeTask } from '../src/contract/summaries';
import { createFailure, fallsBack, readFailure, VideoFailure } from '../src/contract/video-failure';
import { readTimeout } from './activity-timeout';
import { waitForDecision } from './decisions';
import type { Job } from './job';
import { logJob } from './log-event';
import { isReset } from './runs';

/** Pays for one task. A lost submit is sent again only if somebody decides so, or if `onLostSubmit` says `resubmit`. */
export async function submit(job: Job, request: VideoRequest): Promise<void> {
  let withinMs = durationMs(job.input.submitWithin ?? undefined);
  for (;;) {
    try {
      return job.recordSubmitted(await submitOnce(job, request, withinMs));
    } catch (error) {
      const lostSubmit = readLostSubmit(error);
      const found = lostSubmit
        ? await recallLost(job, request, lostSubmit, error)
        : await afterNoTask(job, request, error, withinMs);
      if (found !== 'again' && 'taskId' in found && !(found instanceof VideoFailure))
        return job.recordSubmitted(found);
      // A cancellation must not hide that a task may exist.
      const isWanted = !CancellationScope.current().consideredCancelled;
      const hasTimeLeft = withinMs !== undefined && job.remainingMs() > 0 && isWanted;
      // A task may exist: only this service is asked, until the deadline.
      withinMs = undefined;
      if (!(found instanceof VideoFailure)) continue;
      const { service = job.known.service, onLostSubmit } = found.details;
      job.known.service = service;
      const policy = onLostSubmit ?? job.input.onLostSubmit ?? 'hold';
      if (policy === 'resubmit' && hasTimeLeft) job.hold.repeat(found);
      else if (policy !== 'hold') throw createFailure(found.type, found.details, causeOf(error));
      else if ((await waitForDecision(job, found)) === 'adopted') return;
    }
  }
}

function causeOf(error: unknown): { cause?: Error } {
  return error instanceof ActivityFailure && !readTimeout(error) ? { cause: error } : {};
}

async function submitOnce(
  job: Job,
  request: VideoRequest,
  withinMs: number | undefined,
): Promise<SubmittedTask> {
  job.enter('submitting');
  const { repeats } = job.hold;
  const remainingMs = job.remainingMs();
  if (remainingMs === 0) return afterDeadline(job, request);
  const { idempotencyKey, onLostSubmit, polling, cap, sharedCap, caller } = job.input;
  const { submitVideo } = proxyActivities<VideoActivities>({
    ...SUBMIT_POLICY,
    taskQueue: submitQueue(job),
    // Not for the whole submit: an attempt that is cut off is lost. Its worker ends the retries.
    ...(withinMs !== undefined && { scheduleToStartTimeout: Math.min(withinMs, remainingMs) }),
    scheduleToCloseTimeout: remainingMs,
    summary: describeRequest(request),
  });
  const send = () =>
    submitVideo({
      request,
      service: job.known.service,
      idempotencyKey: idempotencyKey ?? undefined,
      onLostSubmit: onLostSubmit ?? undefined,
      repeats: repeats.length > 0 ? repeats : undefined,
      isReset: isReset() || undefined,
      withinMs,
      polling: polling ?? undefined,
      cap: cap ?? undefined,
      sharedCap: sharedCap ?? undefined,
      caller: caller ?? undefined,
      ledgerQueue: workflowInfo().taskQueue,
    });
  return inspectBeforeCancelling(job, send, (noted) => takeNoted(job, request, noted));
}

/**
 * Submits so that a cancellation hides no lost submit. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and its heartbeat notes are gone. So the notes are read first, and then the submit is cancelled.
 */
async function inspectBeforeCancelling(
  job: Job,
  submitVideo: () => Promise<SubmittedTask>,
  takeNoted: (noted: KnownTask) => Promise<SubmittedTask>,
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
    inspecting = CancellationScope.nonCancellable(() => inspect(job));
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
    const { taskId, service, lost }: InspectedSubmit = inspecting ? await inspecting : {};
    // A failure of the running attempt says more than the cancellation.
    if (!isCancellation(error)) throw error;
    if (taskId !== undefined) return takeNoted({ taskId, service });
    if (lost === undefined) throw error;
    throw createFailure('SubmitUnconfirmed', {
      message: lost.why,
      lostSubmit: lost.id,
      service: lost.service,
    });
  }
}

/** A local activity is quick: until it returns, a submit that is no longer wanted may still be sent. */
async function inspect(job: Job): Promise<InspectedSubmit> {
  const { inspectPendingSubmit } = proxyLocalActivities<VideoActivities>({
    ...INSPECT_SUBMIT_POLICY,
    summary: 'read the notes of the cancelled submit',
  });
  try {
    return await inspectPendingSubmit();
  } catch (error) {
    logJob(job, 'submitNotInspected', { error: cleanText(String(error)) });
    const id = `${workflowInfo().runId}/cancelled`;
    return { lost: { id, why: 'it could not be read how its attempts ended' } };
  }
}

/**
 * What follows a submit that is not lost. It ends the job, unless no worker took it up in the time of `submitWithin` and the
 * service is not to blame, or may have a task.
 */
async function afterNoTask(
  job: Job,
  request: VideoRequest,
  error: unknown,
  withinMs: number | undefined,
): Promise<SubmittedTask | 'again'> {
  const { during, last } = readTimeout(error) ?? {};
  if (during === undefined || withinMs === undefined || job.remainingMs() === 0) throw error;
  if (during === 'never-started' || during === 'never-decrypted') {
    const { task, mayHavePaid, onLostSubmit } = await recall(job, request);
    if (task) return task;
    // Without any worker, the service is not to blame. What an earlier run has sent may have made a task.
    if (mayHavePaid || onLostSubmit === undefined) return 'again';
    const message = `nothing was sent, because no worker had room for it within ${describeDuration(withinMs)}`;
    throw createFailure('ServiceUnreachable', { message });
  }
  const { lost, outcome } = lastNote(error);
  if (last === undefined || !fallsBack(last) || lost || outcome === 'unclear') return 'again';
  throw createFailure(last);
}

/** Nothing is sent any more. The answer to an earlier request may have arrived since. */
async function afterDeadline(job: Job, request: VideoRequest): Promise<SubmittedTask> {
  const { task } = job.hold.repeats.length > 0 ? await recall(job, request) : {};
  if (task) return task;
  throw createFailure('DeadlineExceeded');
}

/** Where submits have a queue of their own, each named service has one. */
function submitQueue({ input: { queues }, known: { service } }: Job): string | undefined {
  const { submit } = queues ?? {};
  return submit == null || service === undefined ? (submit ?? undefined) : serviceQueueOf(submit, service);
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
  const lostSubmit = `${workflowInfo().runId}/timeout`;
  return new VideoFailure('SubmitUnconfirmed', {
    message: 'it timed out before its result was known',
    lostSubmit,
  });
}

/** What the last heartbeat of a submit that timed out says. */
function lastNote(error: unknown): SubmitNote {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return Object(cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : undefined);
}

/** After a timeout, the last heartbeat or the job record may name the task, or say that there is none. */
async function recallLost(
  job: Job,
  request: VideoRequest,
  { type, details }: VideoFailure,
  error: unknown,
): Promise<SubmittedTask | VideoFailure> {
  if (readTimeout(error) === undefined) return new VideoFailure(type, details);
  const { taskId, service, sending } = lastNote(error);
  if (taskId !== undefined) return takeNoted(job, request, { taskId, service });
  const { task, madeNoTask, lost, onLostSubmit } = await recall(job, request);
  if (task) return task;
  // Without shared storage this worker may read a record that is older than the last worker's heartbeat, or than its POST.
  if (madeNoTask && sending === undefined && job.remainingMs() === 0) throw error;
  return new VideoFailure(type, {
    ...details,
    lostSubmit: sending?.id ?? lost?.id ?? details.lostSubmit,
    service: service ?? lost?.service,
    onLostSubmit: job.input.onLostSubmit ?? onLostSubmit,
  });
}

/** Takes the task of an attempt that got its answer and could not return it. */
async function takeNoted(job: Job, request: VideoRequest, noted: KnownTask): Promise<SubmittedTask> {
  const { task = { nextPollMs: 0, ...noted } } = await recall(job, request, noted);
  return task;
}

/** Reads the job record, or writes a task to it. A storage that fails counts as one without a record. */
async function recall(job: Job, request: VideoRequest, noted?: KnownTask): Promise<Partial<RecalledSubmit>> {
  const { recallSubmit } = proxyActivities<VideoActivities>({
    ...RECALL_POLICY,
    summary: noted === undefined ? 'read the job record' : describeTask(noted.taskId),
  });
  const asked = { request, service: job.known.service, noted, caller: job.input.caller ?? undefined };
  try {
    return await CancellationScope.nonCancellable(() => recallSubmit(asked));
  } catch (error) {
    logJob(job, 'recordNotRead', { error: cleanText(String(error)) });
    return {};
  }
}
