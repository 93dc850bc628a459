import { randomUUID } from 'node:crypto';
import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat, log } from '@temporalio/activity';
import { fromTemporalType } from '../../src/contract/failure-table';
import { createFailure, type FailureDetails } from '../../src/contract/failures';
import type { PollBounds } from '../../src/contract/job';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../src/contract/policies';
import { parseRequest, type VideoRequest } from '../../src/contract/request';
import { type RateLimiter, ServiceFault, type VideoService } from '../../src/service';
import { StorageFault, type VideoStorage } from '../../src/storage';
import { jobId, type NamedJob, whileAlive } from '../attempt';
import { digestOf, JobRecordFile, keyMayBeKnown, lostSend } from '../job-record';
import { pollBounds } from '../poll-video';
import { callWithinLimits } from '../rate-limited-call';
import { failureOf, toFailure } from '../to-failure';
import { type EarlierRuns, readEarlierRuns } from './earlier-runs';
import { describeLost, readNotes, type SubmitNote } from './submit-note';

export interface SubmitVideoInput extends NamedJob {
  request: VideoRequest;
  /** The caller's own; otherwise one is made of namespace, workflow id and request. */
  idempotencyKey?: string;
  /** The job's own; otherwise the worker's. */
  onLostSubmit?: LostSubmitPolicy;
  /** Somebody decided to submit again after a submit was lost. */
  resubmits?: boolean;
  /** The runs of the workflow that began with a reset or as another try, if any: one before them may have submitted. */
  resetRuns?: string[];
  /** What was said of the lost submit that somebody decided on. */
  settled?: string;
}

/** The task, and how often the service wants to be asked for it. */
export interface SubmittedTask {
  taskId: string;
  polling?: PollBounds;
  /** Which record of the job the storage keeps. */
  record?: string;
  /** Whether the record says that the video is stored already. */
  isStored?: boolean;
}

export interface SubmitVideoDeps {
  service: VideoService;
  storage: VideoStorage;
  rateLimiter: RateLimiter;
  onLostSubmit: LostSubmitPolicy;
}

/**
 * Sends one POST, and a second one only when the answer to the first is known to be a refusal, or when `resubmit` was
 * chosen for what is lost. What is sent is on record in the storage before it leaves, and the task as soon as it is known.
 * A cancellation does not reach the socket here: a request that has left is not abandoned, its answer names the task.
 */
export function createSubmitVideo({ service, storage, rateLimiter, ...worker }: SubmitVideoDeps) {
  return async function submitVideo(input: SubmitVideoInput): Promise<SubmittedTask> {
    const begunAtMs = performance.now();
    const { attempt } = activityInfo();
    const { onLostSubmit = worker.onLostSubmit, job, resetRuns } = input;
    const refuseIfLost = (lost: string | undefined) => {
      if (lost === undefined || onLostSubmit === 'resubmit') return;
      throw failureOf('SubmitUnconfirmed', 'submit', { message: lost, onLostSubmit });
    };
    const notes = readNotes();
    const noted = notes.lost === undefined ? undefined : describeLost(notes.lost);
    const parsed = parseRequest(input.request, service.profile?.requestFields);
    if (!parsed.ok) {
      refuseIfLost(noted);
      throw failureOf('InvalidRequest', 'submit', { message: parsed.problem });
    }
    const { request } = parsed;
    const record = JobRecordFile.of(storage, { job: jobId(input), request });
    const { idempotencyKey = digestOf(jobId(input), request) } = input;
    const submitted = (taskId: string) => ({ taskId, record: record.id, ...pollBounds(service.profile) });
    let keyWasSent =
      notes.keySent || input.resubmits || resetRuns !== undefined || input.idempotencyKey !== undefined;
    let lost = noted;
    let sent = false;
    let note: unknown = activityInfo().heartbeatDetails;
    const tell = (next: SubmitNote) => {
      note = next;
      heartbeat(next);
    };

    const send = randomUUID();
    const post = async () => {
      tell({ sending: attempt });
      sent = true;
      await record.writeSending(send);
      refuseIfLate(begunAtMs);
      const answer = await service.submit(request, { idempotencyKey });
      tell({ taskId: answer.taskId });
      log.info('submitted', { taskId: answer.taskId });
      await record.writeTask(answer.taskId);
      return answer;
    };

    const submit = async (): Promise<SubmittedTask> => {
      if (notes.taskId !== undefined) return submitted(notes.taskId);
      const found = await record.read();
      if (found && 'taskId' in found) {
        log.info('the task is on record', { taskId: found.taskId, record: record.key });
        return { ...submitted(found.taskId), ...(found.state === 'stored' && { isStored: true }) };
      }
      const earlier: EarlierRuns = resetRuns ? await readEarlierRuns({ job, resetRuns }) : {};
      if (earlier.taskId !== undefined) return submitted(earlier.taskId);
      keyWasSent ||= keyMayBeKnown(found);
      lost = lostSend(found, {
        noted,
        settledSend: notes.settledSend,
        isSettled: input.resubmits ?? false,
      });
      refuseIfLost(lost);
      if (earlier.lost !== input.settled) refuseIfLost(earlier.lost);
      const { taskId, doubts } = await callWithinLimits(rateLimiter, 'submit', post);
      for (const doubt of doubts) log.warn('the answer can be read in two ways', { taskId, doubt });
      return submitted(taskId);
    };

    try {
      return await whileAlive(() => note, submit);
    } catch (error) {
      const wasNotSent =
        error instanceof NotSent ||
        error instanceof StorageFault ||
        (error instanceof ServiceFault && error.kind === 'not-sent');
      const failure = toFailure(sayNothingWasSent(error), keyWasSent ? 'resubmit' : 'submit', {
        onLostSubmit,
      });
      if (wasNotSent || !(sent ? mayHaveMadeTask(failure) : isUnconfirmed(failure))) {
        const keySent = keyWasSent || (sent && !wasNotSent);
        // Before the record: its storage may be slow, and Temporal would take the attempt for lost.
        tell({
          settled: attempt,
          send: sent ? send : notes.settledSend,
          ...(notes.lost !== undefined && { lost: notes.lost }),
          ...(keySent && { keySent }),
        });
        if (sent) await record.writeRefused({ keySent, lostBefore: lost });
      }
      throw error instanceof NotSent ? error.cause : withLost(failure, lost);
    }
  };
}

/** The attempt is over before its POST has left, for a reason that is no fault of service or storage. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Whoever decides, cancels or tries again goes by what has left: nothing leaves once Temporal may have given up on this. */
function refuseIfLate(begunAtMs: number): void {
  const signal = cancellationSignal();
  if (signal.aborted) throw new NotSent('cancelled', { cause: signal.reason });
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } =
    activityInfo();
  const elapsedMs = performance.now() - begunAtMs;
  const beforeMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const leftMs = scheduleToCloseTimeoutMs
    ? scheduleToCloseTimeoutMs - beforeMs - elapsedMs
    : Number.POSITIVE_INFINITY;
  if (elapsedMs > POST_WITHIN_MS) throw new StorageFault('it took too long to put the request on record');
  if (leftMs < POST_BEFORE_DEADLINE_MS) {
    throw new NotSent('late', { cause: createFailure('DeadlineExceeded', { message: 'nothing was sent' }) });
  }
}

/** A refusal does not settle what was lost before it. */
function withLost(failure: unknown, lost: string | undefined): unknown {
  if (lost === undefined || !(failure instanceof ApplicationFailure) || isUnconfirmed(failure))
    return failure;
  const type = fromTemporalType(failure.type);
  if (type === undefined) return failure;
  const details: FailureDetails = Object(failure.details?.[0]);
  const message = [details.message, `a task may exist all the same, for ${lost}`].filter(Boolean).join('; ');
  const { nonRetryable, nextRetryDelay, cause } = failure;
  return createFailure(
    type,
    { ...details, message },
    {
      retryable: !nonRetryable,
      nextRetryDelayMs: typeof nextRetryDelay === 'number' ? nextRetryDelay : undefined,
      cause,
    },
  );
}

/** Nobody pays for a video that has nowhere to go. */
function sayNothingWasSent(error: unknown): unknown {
  if (!(error instanceof StorageFault)) return error;
  const { isFinal, message } = error;
  return new StorageFault(`nothing was sent, because the storage failed: ${message}`, {
    isFinal,
    cause: error,
  });
}

function isUnconfirmed(failure: unknown): boolean {
  return failure instanceof ApplicationFailure && fromTemporalType(failure.type) === 'SubmitUnconfirmed';
}

/** Only what is in the table is known to have made none. */
function mayHaveMadeTask(failure: unknown): boolean {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  return type === undefined || type === 'SubmitUnconfirmed';
}
