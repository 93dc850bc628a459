import { createHash } from 'node:crypto';
import { ApplicationFailure, activityInfo, heartbeat, log } from '@temporalio/activity';
import { fromTemporalType } from '../src/contract/failure-table';
import type { PollBounds } from '../src/contract/job';
import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import { parseRequest, type VideoRequest } from '../src/contract/request';
import { type RateGate, ServiceFault, type VideoService } from '../src/service';
import { type EarlierRuns, lookAtEarlierRuns } from './earlier-runs';
import { whileHeartbeating } from './heartbeating';
import { jobId, type NamedJob } from './job-id';
import { pollBounds } from './poll-bounds';
import { describeLost, readNotes, type SubmitNote } from './submit-note';
import { throughGate } from './through-gate';
import { failureOf, toFailure } from './to-failure';

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
}

export interface SubmitVideoDeps {
  service: VideoService;
  gate: RateGate;
  onLostSubmit: LostSubmitPolicy;
}

/**
 * Sends one POST, and a second one only when the answer to the first is known to be a refusal, or when `resubmit` was
 * chosen for what is lost.
 * A cancellation does not reach the socket here: a request that has left is not abandoned, its answer names the task.
 */
export function createSubmitVideo({ service, gate, ...worker }: SubmitVideoDeps) {
  return async function submitVideo(input: SubmitVideoInput): Promise<SubmittedTask> {
    const { attempt } = activityInfo();
    const { onLostSubmit = worker.onLostSubmit } = input;
    const refuseIfLost = (lost: string | undefined) => {
      if (lost === undefined || onLostSubmit === 'resubmit') return;
      throw failureOf('SubmitUnconfirmed', 'submit', { message: lost, onLostSubmit });
    };
    const notes = readNotes();
    refuseIfLost(notes.lost === undefined ? undefined : describeLost(notes.lost));

    const request = checked(input.request, service.profile?.requestFields);
    const { idempotencyKey = keyOf(request, jobId(input)), job, resetRuns } = input;
    const keyWasSent =
      notes.keySent || input.resubmits || resetRuns !== undefined || input.idempotencyKey !== undefined;
    let sent = false;
    try {
      const earlier: EarlierRuns = resetRuns ? await lookAtEarlierRuns({ job, resetRuns }) : {};
      if (earlier.taskId !== undefined) return { taskId: earlier.taskId, ...pollBounds(service.profile) };
      if (earlier.lost !== input.settled) refuseIfLost(earlier.lost);
      const { taskId, doubts } = await throughGate(gate, 'submit', () => {
        sent = true;
        return whileHeartbeating(
          () => ({ sending: attempt }) satisfies SubmitNote,
          () => service.submit(request, { idempotencyKey }),
        );
      });
      log.info('submitted', { taskId });
      for (const doubt of doubts) log.warn('the answer can be read in two ways', { taskId, doubt });
      return { taskId, ...pollBounds(service.profile) };
    } catch (error) {
      if (error instanceof ServiceFault && error.kind === 'not-sent') sent = false;
      const failure = toFailure(error, keyWasSent ? 'resubmit' : 'submit', { onLostSubmit });
      if (!sent || madeNoTask(failure)) {
        const { lost } = notes;
        heartbeat({
          settled: attempt,
          ...(lost !== undefined && { lost }),
          ...((keyWasSent || sent) && { keySent: true }),
        } satisfies SubmitNote);
      }
      throw failure;
    }
  };
}

function checked(given: VideoRequest, further?: readonly string[]): VideoRequest {
  const parsed = parseRequest(given, further);
  if (parsed.ok) return parsed.request;
  throw failureOf('InvalidRequest', 'submit', { message: parsed.problem });
}

/** The same for every attempt and every run of one job, so that a service which honours it makes one task. */
function keyOf(request: VideoRequest, job: string): string {
  const fields = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  const whole = JSON.stringify([activityInfo().namespace, job, fields]);
  return createHash('sha256').update(whole).digest('hex');
}

/** Only what is in the table is known to have made none. */
function madeNoTask(failure: unknown): boolean {
  const type = failure instanceof ApplicationFailure ? fromTemporalType(failure.type) : undefined;
  return type !== undefined && type !== 'SubmitUnconfirmed';
}
