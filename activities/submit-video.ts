import { createHash } from 'node:crypto';
import { ApplicationFailure, activityInfo, heartbeat, log } from '@temporalio/activity';
import { parseRequest, type VideoRequest } from '../src/contract/request';
import type { VideoService } from '../src/service';
import { whileHeartbeating } from './heartbeating';
import { jobId } from './job-id';
import { failureOf, toFailure } from './to-failure';

export interface SubmitVideoInput {
  request: VideoRequest;
}

/** What an attempt leaves for the next one. */
interface SubmitNote {
  /** The last attempt that is known to have made no task. */
  settled?: number;
  /** The attempt whose request is under way: whoever finds this does not know how it ended. */
  sending?: number;
}

/**
 * Sends one POST, and a second one only when the answer to the first is known to be a refusal.
 *
 * An attempt that was refused, or sent nothing, notes it in the heartbeat before it throws. An attempt that finds no such
 * note from the one before it (its worker was killed, its time ran out, its connection was cut and then the report of that
 * was lost) cannot know whether a task exists, so it sends nothing.
 * A cancellation does not reach the socket here: a request that has left is not abandoned, its answer names the task.
 */
export function createSubmitVideo(service: VideoService) {
  return async function submitVideo({ request }: SubmitVideoInput): Promise<{ taskId: string }> {
    const { attempt } = activityInfo();
    const { settled, sending } = readNote(activityInfo().heartbeatDetails);
    if (sending !== undefined || (attempt > 1 && settled !== attempt - 1)) {
      throw failureOf('SubmitUnconfirmed', 'submit', {
        message: `attempt ${sending ?? attempt - 1} ended before its answer was known`,
      });
    }
    const parsed = parseRequest(request);
    if (!parsed.ok) throw failureOf('InvalidRequest', 'submit', { message: parsed.problem });

    try {
      const { taskId, said } = await whileHeartbeating(
        () => ({ sending: attempt }) satisfies SubmitNote,
        () => service.submit(parsed.request, { idempotencyKey: idempotencyKey(parsed.request) }),
      );
      if (taskId === undefined) {
        throw failureOf('SubmitUnconfirmed', 'submit', {
          ...said,
          message: said.message ?? 'the answer names no task',
        });
      }
      log.info('submitted', { taskId });
      return { taskId };
    } catch (error) {
      const failure = toFailure(error, 'submit');
      if (madeNoTask(failure)) heartbeat({ settled: attempt } satisfies SubmitNote);
      throw failure;
    }
  };
}

/** The same for every attempt and every run of one job, so that a service which honours it makes one task. */
function idempotencyKey(request: VideoRequest): string {
  const fields = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  const job = JSON.stringify([activityInfo().namespace, jobId(), fields]);
  return createHash('sha256').update(job).digest('hex');
}

function madeNoTask(failure: unknown): boolean {
  return failure instanceof ApplicationFailure && failure.type !== 'SubmitUnconfirmed';
}

function readNote(details: unknown): SubmitNote {
  if (typeof details !== 'object' || details === null) return {};
  const { settled, sending }: { settled?: unknown; sending?: unknown } = details;
  return {
    settled: typeof settled === 'number' ? settled : undefined,
    sending: typeof sending === 'number' ? sending : undefined,
  };
}
