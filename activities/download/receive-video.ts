import { log } from '@temporalio/activity';
import type { FailureType } from '../../src/contract/failure-table';
import { FRUITFUL_BYTES, FRUITLESS_CONNECTIONS } from '../../src/contract/policies';
import {
  NO_SECRETS,
  type RateLimiter,
  redact,
  ServiceFault,
  type TaskReading,
  type VideoBody,
  type VideoService,
} from '../../src/service';
import { StorageFault } from '../../src/storage';
import { callWithinLimits } from '../rate-limited-call';
import { failureOf, toFailure } from '../to-failure';
import { BadVideo, VideoTooLarge } from './bad-video';
import type { VideoDownload } from './video-download';
import { type DownloadPace, watchPace } from './watch-pace';

/** To a link: it has expired, or is of another key, and the service may have a better one by now. */
const REFUSED_LINK: (number | undefined)[] = [401, 403, 404, 410];

export interface ReceiveVideoOptions {
  service: VideoService;
  rateLimiter: RateLimiter;
  taskId: string;
  pace: DownloadPace;
  signal: AbortSignal;
}

/**
 * Connects until the whole video has come, each time by a fresh link and from where the last connection ended. What gets
 * no further is left to Temporal's retry policy, which pauses longer and longer.
 */
export async function receiveVideo(reception: VideoDownload, options: ReceiveVideoOptions): Promise<void> {
  const { taskId, pace } = options;
  const endsAtMs = Date.now() + pace.attemptMs;
  let furthest = reception.bytes;
  for (let fruitless = 0; ; ) {
    try {
      return await receiveOnce(reception, options, endsAtMs);
    } catch (error) {
      if (!isWorthAnother(error)) throw error;
      fruitless = reception.bytes >= furthest + FRUITFUL_BYTES ? 0 : fruitless + 1;
      furthest = Math.max(furthest, reception.bytes);
      if (fruitless === FRUITLESS_CONNECTIONS || Date.now() >= endsAtMs) throw error;
      log.info('asking for the rest of the video', {
        taskId,
        bytes: reception.bytes,
        because: error.message,
      });
    }
  }
}

/** One connection: from a fresh link to the end of what it brings. */
async function receiveOnce(
  reception: VideoDownload,
  { service, rateLimiter, taskId, pace, signal }: ReceiveVideoOptions,
  endsAtMs: number,
): Promise<void> {
  const link = await freshLink(taskId, () =>
    callWithinLimits(rateLimiter, 'poll', () => service.poll(taskId, { signal })),
  );
  const from = reception.resumePoint;
  const body = await callWithinLimits(rateLimiter, 'download', () =>
    service.openVideo(link, { signal, from }),
  );
  const stopWatching = watchPace(body.stream, reception, pace, endsAtMs);
  try {
    await reception.expect(body);
    await reception.take(body.stream);
  } catch (error) {
    throw signal.aborted ? error : faultOf(error, body);
  } finally {
    stopWatching();
    // A video that is not read to its end would keep its connection.
    body.stream.on('error', () => undefined).destroy();
  }
}

function isWorthAnother(error: unknown): error is ServiceFault {
  if (!(error instanceof ServiceFault)) return false;
  return error.kind === 'cut' || (error.kind === 'answered' && REFUSED_LINK.includes(error.facts.status));
}

const KNOWN_FAULTS = [ServiceFault, StorageFault, BadVideo, VideoTooLarge];

/** What none of us has thrown came from the stream itself: the connection ended within the video. */
function faultOf(error: unknown, { encoding }: VideoBody): unknown {
  if (KNOWN_FAULTS.some((known) => error instanceof known)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (encoding !== undefined) return new BadVideo(`its ${encoding} encoding is broken: ${message}`);
  return new ServiceFault('cut', { message: redact(message, NO_SECRETS) });
}

/** What it means when the task, asked for its link, is in another state than "succeeded, with a video". */
const WITHOUT_LINK: Record<TaskReading['task']['state'], FailureType> = {
  queued: 'NoVideo',
  running: 'NoVideo',
  unknown: 'NoVideo',
  succeeded: 'NoVideo',
  failed: 'GenerationFailed',
  cancelled: 'GenerationCancelled',
};

/** The link as the service gives it now. Links expire and are secrets: nobody keeps one. */
export async function freshLink(taskId: string, look: () => Promise<TaskReading>): Promise<string> {
  try {
    const { task, serviceMessage } = await look();
    if (task.state === 'succeeded' && task.videoUrl !== undefined) return task.videoUrl;
    throw failureOf(WITHOUT_LINK[task.state], 'download', { taskId, ...serviceMessage });
  } catch (error) {
    // A status call's refusals mean what they mean while waiting; how they are retried is the download's matter.
    throw toFailure(error, 'poll', { taskId, retryAs: 'download' });
  }
}
