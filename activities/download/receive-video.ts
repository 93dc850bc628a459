import type { Readable } from 'node:stream';
import { describeDuration } from '../../src/contract/duration';
import type { FailureType } from '../../src/contract/failure-table';
import { FRUITFUL_BYTES, FRUITLESS_CONNECTIONS } from '../../src/contract/policies';
import { NO_SECRETS, redact } from '../../src/contract/redact';
import type { FoundService, TaskReading, VideoBody } from '../../src/service';
import { ServiceFault } from '../../src/service/service-fault';
import { openVideoBytes } from '../../src/service/video-bytes';
import { logEvent } from '../log-event';
import { measureReceived } from '../measure';
import { callWithinLimits } from '../rate-limited-call';
import { BadVideo, createCallFailure, isKnownFault, toFailure } from '../to-failure';
import type { PartFile } from './part-file';

/** The link has expired or needs another key; the service may have a new one. */
const REFUSED_LINK: (number | undefined)[] = [401, 403, 404, 410];

/** How slow a download may be before it is retried. */
export interface DownloadPace {
  /** In each window, at least `leastBytes` must arrive, unless the disk is the slow part. */
  windowMs: number;
  leastBytes: number;
  /** How long one attempt may take. */
  attemptMs: number;
}

export interface ReceiveVideoOptions {
  at: FoundService;
  taskId: string;
  pace: DownloadPace;
  signal: AbortSignal;
}

/**
 * Connects until the whole video has arrived, each time with a fresh link and from where the last connection stopped. When
 * connections make no progress, it fails, so that Temporal's retry policy pauses. Returns what the service warns of.
 */
export async function receiveVideo(part: PartFile, options: ReceiveVideoOptions): Promise<string[]> {
  const { taskId, pace } = options;
  const endsAtMs = Date.now() + pace.attemptMs;
  let furthestBytes = part.bytes;
  for (let fruitless = 0; ; ) {
    try {
      return await receiveOnce(part, options, endsAtMs);
    } catch (error) {
      if (!isWorthReconnecting(error)) throw error;
      fruitless = part.bytes >= furthestBytes + FRUITFUL_BYTES ? 0 : fruitless + 1;
      furthestBytes = Math.max(furthestBytes, part.bytes);
      if (fruitless === FRUITLESS_CONNECTIONS || Date.now() >= endsAtMs) throw error;
      logEvent('resuming', { taskId, bytes: part.bytes, reason: error.message });
    }
  }
}

/** One connection, from a fresh link to the end of its stream. A service may also send the video with its answer. */
async function receiveOnce(
  part: PartFile,
  { at, taskId, pace, signal }: ReceiveVideoOptions,
  endsAtMs: number,
): Promise<string[]> {
  const { video, warnings } = await freshVideo(taskId, () =>
    callWithinLimits(at, 'poll', () => at.service.poll(taskId, { signal })),
  );
  const from = part.resumePoint;
  const body =
    typeof video === 'string'
      ? await callWithinLimits(at, 'download', () => at.service.openVideo(video, { signal, from }))
      : openVideoBytes(video, { from });
  // It may break before it is read, and an error without a listener ends the process.
  body.stream.on('error', () => undefined);
  const stopWatching = watchPace(body.stream, part, pace, endsAtMs);
  let offset = part.bytes;
  try {
    await part.expect(body);
    offset = part.bytes;
    await part.write(body.stream);
    return warnings;
  } catch (error) {
    throw signal.aborted ? error : faultOf(error, body);
  } finally {
    stopWatching();
    measureReceived(part.bytes - offset);
    // A stream that is not read to its end would keep its connection open.
    body.stream.destroy();
  }
}

/** Ends a stream that is too slow or takes too long. Returns a function that stops watching. */
function watchPace(
  stream: Readable,
  part: PartFile,
  { windowMs, leastBytes }: DownloadPace,
  endsAtMs: number,
): () => void {
  const end = (message: string) => stream.destroy(new ServiceFault('cut', { message }));
  let bytesBefore = part.bytes;
  const slow = setInterval(() => {
    const received = part.bytes - bytesBefore;
    bytesBefore = part.bytes;
    if (received >= leastBytes || part.waitsForDisk) return;
    end(`only ${received} bytes arrived in ${describeDuration(windowMs)}`);
  }, windowMs);
  const late = setTimeout(
    () => end('the attempt took too long; the next one resumes the download'),
    Math.max(0, endsAtMs - Date.now()),
  );
  return () => {
    clearInterval(slow);
    clearTimeout(late);
  };
}

function isWorthReconnecting(error: unknown): error is ServiceFault {
  if (!(error instanceof ServiceFault)) return false;
  return error.kind === 'cut' || (error.kind === 'answered' && REFUSED_LINK.includes(error.facts.status));
}

/** An error that is none of ours comes from the stream: the connection ended inside the video. */
function faultOf(error: unknown, { encoding }: VideoBody): unknown {
  if (isKnownFault(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (encoding !== undefined) return new BadVideo(`its ${encoding} encoding is broken: ${message}`);
  // These are words of Node or undici, which may quote the link but never saw the key.
  return new ServiceFault('cut', { message: redact(message, NO_SECRETS) });
}

/** The failure when the task has no link any more, by its state. */
const WITHOUT_LINK: Record<TaskReading['task']['state'], FailureType> = {
  queued: 'NoVideo',
  running: 'NoVideo',
  unknown: 'NoVideo',
  succeeded: 'NoVideo',
  failed: 'GenerationFailed',
  cancelled: 'GenerationCancelled',
};

/** A link to a video, or its bytes. */
interface FreshVideo {
  video: string | Uint8Array;
  warnings: string[];
}

/** Polls for the link. It is never stored, because links are secrets and expire. */
async function freshVideo(taskId: string, poll: () => Promise<TaskReading>): Promise<FreshVideo> {
  try {
    const { task, serviceMessage, refusedContent, warnings = [] } = await poll();
    const video = task.state === 'succeeded' ? (task.videoUrl ?? task.videoBytes) : undefined;
    if (video !== undefined) return { video, warnings };
    const type = task.state === 'failed' && refusedContent ? 'ContentRefused' : WITHOUT_LINK[task.state];
    throw createCallFailure(type, 'download', {
      taskId,
      ...serviceMessage,
      ...(type === 'ContentRefused' && refusedContent),
    });
  } catch (error) {
    // The failure is that of a poll; its retries are those of the download.
    throw toFailure(error, 'poll', { taskId, retryAs: 'download' });
  }
}
