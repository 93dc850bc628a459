import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  metricMeter,
  proxyActivities,
  proxyLocalActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { RecalledSubmit, RecallSubmitInput, SubmittedTask, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import { describeDuration, durationMs } from '../src/contract/duration';
import { commandOn } from '../src/contract/lost-submit';
import { count } from '../src/contract/metrics';
import { serviceQueueOf } from '../src/contract/names';
import { BRIEF_POLICY, INSPECT_SUBMIT_POLICY, SUBMIT_POLICY } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { describeRequest } from '../src/contract/summaries';
import { createFailure, readFailure, type VideoFailure } from '../src/contract/video-failure';
import { readTimeout } from './end';
import { lostFailure } from './hold';
import type { Job } from './job';
import { logJob } from './log-event';
import { tellParent } from './notify';
import { isReset } from './runs';
import { noticeUnserved } from './unserved';

/** What is left of a submit that did not say how it ended. */
type SubmitTrace = Pick<RecallSubmitInput, 'note' | 'mayHaveSent'>;

interface EndedSubmit {
  task?: SubmittedTask;
  error?: unknown;
  trace?: SubmitTrace;
}

/** Pays for one task. A lost submit is sent again only if somebody decides so, or if `onLostSubmit` says `resubmit`. */
export async function submit(job: Job, request: VideoRequest): Promise<void> {
  let withinMs = durationMs(job.input.submitWithin);
  for (;;) {
    try {
      return job.recordSubmitted(await submitOnce(job, request, withinMs));
    } catch (error) {
      const lost = readFailure(error);
      if (lost?.type !== 'SubmitUnconfirmed') throw error;
      const { service = job.known.service, onLostSubmit = job.input.onLostSubmit ?? 'hold' } = lost.details;
      job.known.service = service;
      // A cancellation must not hide that a task may exist.
      const isWanted = !CancellationScope.current().consideredCancelled;
      const mayRepeat = withinMs !== undefined && job.remainingMs() > 0 && isWanted;
      // A task may exist: only this service is asked, until the deadline.
      withinMs = undefined;
      if (onLostSubmit === 'resubmit' && mayRepeat) job.hold.repeat(lost);
      else if (onLostSubmit !== 'hold') throw error;
      else if ((await waitForDecision(job, lost)) === 'adopted') return;
    }
  }
}

/** Holds the job until somebody decides: that it has a task, or to submit once more. Throws when it ends. */
async function waitForDecision(job: Job, lostSubmit: VideoFailure): Promise<'adopted' | 'submit'> {
  const { hold } = job;
  count(metricMeter, 'videogen_holds_started_total');
  hold.start(lostSubmit);
  job.enter('needs-decision');
  logJob(job, 'held', {
    ...lostSubmit.details,
    heldUntil: hold.progress()?.until,
    decide: `${commandOn('decide', job.name, '--adopt TASK_ID')} (or --resubmit, or --abandon)`,
  });
  // Not awaited: the hold runs from its start, whatever becomes of the webhook.
  void job.notifyReceiver('video.needs_decision');
  tellParent({ hold: hold.progress() ?? null });
  try {
    await condition(() => hold.decided !== undefined, hold.holdMs, {
      summary: 'for a decision: adopt, resubmit or abandon',
    });
    // A decision that arrived in time may still be adopting its task.
    await condition(() => hold.decided !== undefined || allHandlersFinished());
  } catch (error) {
    hold.end();
    if (!isCancellation(error)) throw error;
    count(metricMeter, 'videogen_holds_ended_total', { end: 'cancelled' });
    // A cancellation must not hide that a task may exist.
    throw lostFailure(lostSubmit.details, 'the job was cancelled before anybody decided');
  }
  const { decision, task } = hold.end() ?? {};
  // The caller of the job sees its end anyway.
  if (decision && decision.decision !== 'abandon') tellParent({ hold: null });
  count(metricMeter, 'videogen_holds_ended_total', { end: decision?.decision ?? 'expired' });
  if (decision) logJob(job, 'decided', decision);
  switch (decision?.decision) {
    case 'adopt':
      if (task) job.recordAdopted(task);
      return 'adopted';
    case 'resubmit':
      hold.repeat(lostSubmit);
      return 'submit';
    case 'abandon':
      throw lostFailure(lostSubmit.details, 'abandoned by decision');
    case undefined:
      throw lostFailure(lostSubmit.details, `nobody decided within ${describeDuration(hold.holdMs)}`);
  }
}

/** Returns the task. Throws `SubmitUnconfirmed` if one may exist, or else why there is none. */
async function submitOnce(
  job: Job,
  request: VideoRequest,
  withinMs: number | undefined,
): Promise<SubmittedTask> {
  job.enter('submitting');
  const {
    task: made,
    error,
    trace = traceOf(error),
  } = await inspectBeforeCancelling(job, () => send(job, request, withinMs));
  if (made) return made;
  if (trace === undefined) throw error;
  const { task, mayHaveTask } = await recall(job, request, trace);
  if (task) return task;
  if (withinMs === undefined || job.remainingMs() === 0 || isCancellation(error)) throw error;
  // Without shared storage this worker may read a record that is older than the last POST.
  if (trace.mayHaveSent) throw unknownEnd(job, 'it timed out before its result was known');
  // A task may exist: only this service is asked, until the deadline.
  if (mayHaveTask) return submitOnce(job, request, undefined);
  throw createFailure('ServiceUnreachable', {
    message: `no worker had room for it within ${describeDuration(withinMs)}`,
  });
}

async function send(job: Job, request: VideoRequest, withinMs: number | undefined): Promise<SubmittedTask> {
  const remainingMs = job.remainingMs();
  if (remainingMs === 0) throw createFailure('DeadlineExceeded');
  const { idempotencyKey, onLostSubmit, polling, cap, sharedCap, caller } = job.input;
  const { repeats } = job.hold;
  const taskQueue = queueOfSubmit(job);
  const { submitVideo } = proxyActivities<VideoActivities>({
    ...SUBMIT_POLICY,
    taskQueue,
    // Not for the whole submit: an attempt that is cut off is lost. Its worker ends the retries.
    ...(withinMs !== undefined && { scheduleToStartTimeout: Math.min(withinMs, remainingMs) }),
    scheduleToCloseTimeout: remainingMs,
    summary: describeRequest(request),
  });
  const given = {
    request,
    service: job.known.service,
    idempotencyKey,
    onLostSubmit,
    repeats: repeats.length > 0 ? repeats : undefined,
    isReset: isReset() || undefined,
    withinMs,
    polling,
    cap,
    sharedCap,
    caller,
    ledgerQueue: workflowInfo().taskQueue,
  };
  return noticeUnserved(job, taskQueue, () => submitVideo(given));
}

/** Where submits have a queue of their own, each named service has one. */
function queueOfSubmit({ known: { route, service } }: Job): string | undefined {
  const { submit } = route ?? {};
  return submit === undefined || service === undefined ? submit : serviceQueueOf(submit, service);
}

/**
 * Submits so that a cancellation hides no lost submit. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and its heartbeat notes are gone. So the notes are read first, and then the submit is cancelled.
 */
async function inspectBeforeCancelling(job: Job, send: () => Promise<SubmittedTask>): Promise<EndedSubmit> {
  const { cancelRequested, consideredCancelled } = CancellationScope.current();
  if (consideredCancelled) throw new CancelledFailure('cancelled before the submit');
  // A cancellation of the job does not reach it: only this function cancels it.
  const shield = new CancellationScope({ cancellable: false });
  const sending = new CancellationScope({ cancellable: true, parent: shield });
  let isOver = false;
  let inspecting: Promise<EndedSubmit> | undefined;
  void cancelRequested.catch(async () => {
    if (isOver) return;
    inspecting = CancellationScope.nonCancellable(() => inspect(job));
    await inspecting;
    sending.cancel();
  });
  try {
    return { task: await sending.run(send) };
  } catch (error) {
    // A failure of the running attempt says more than the cancellation.
    return { error, ...(isCancellation(error) && (await inspecting)) };
  } finally {
    isOver = true;
    await inspecting;
  }
}

/** A local activity is quick: until it returns, a submit that is no longer wanted may still be sent. */
async function inspect(job: Job): Promise<EndedSubmit> {
  const { inspectPendingSubmit } = proxyLocalActivities<VideoActivities>({
    ...INSPECT_SUBMIT_POLICY,
    summary: 'read the notes of the cancelled submit',
  });
  try {
    const note = await inspectPendingSubmit();
    return note == null ? {} : { trace: { note } };
  } catch (error) {
    logJob(job, 'submitNotInspected', { error: cleanText(String(error)) });
    return { error: unknownEnd(job, 'it could not be read how its attempts ended') };
  }
}

/** Undefined when the submit has said how it ended. One that was too late is not sent, but the one before may have a task now. */
function traceOf(error: unknown): SubmitTrace | undefined {
  if (error instanceof ApplicationFailure)
    return readFailure(error)?.type === 'DeadlineExceeded' ? {} : undefined;
  const during = readTimeout(error);
  if (during === undefined) return undefined;
  const { cause } = error instanceof ActivityFailure ? error : {};
  const note = cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : undefined;
  return { note, mayHaveSent: during === 'while-running' };
}

/** Finds out what became of a submit, by its last note and the job record. Throws `SubmitUnconfirmed` if it is lost. */
async function recall(job: Job, request: VideoRequest, trace: SubmitTrace): Promise<RecalledSubmit> {
  const { recallSubmit } = proxyActivities<VideoActivities>({
    ...BRIEF_POLICY,
    summary: 'read the notes and the job record',
  });
  const { onLostSubmit, caller } = job.input;
  const asked = { request, service: job.known.service, onLostSubmit, caller, repeats: job.hold.repeats };
  try {
    return await CancellationScope.nonCancellable(() => recallSubmit({ ...asked, ...trace }));
  } catch (error) {
    if (readFailure(error)?.type === 'SubmitUnconfirmed') throw error;
    logJob(job, 'recordNotRead', { error: cleanText(String(error)) });
    if (trace.note == null && !trace.mayHaveSent) return { mayHaveTask: true };
    throw unknownEnd(job, 'it could not be read what became of it');
  }
}

/** No worker knows its send. */
function unknownEnd(job: Job, message: string): ApplicationFailure {
  const lostSubmit = `${workflowInfo().runId}/${job.hold.repeats.length}`;
  return createFailure('SubmitUnconfirmed', { message, lostSubmit });
}
