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
import type { VideoDownload } from './video-download';

/** The link has expired or needs another key; the service may have a new one. */
const REFUSED_LINK: (number | undefined)[] = [401, 403, 404, 410];

/** How slow a download may be before it is retried. */
export interface DownloadPace {
  /** In each window, at least `leastBytes` must arrive, unless the disk is the slow part. */
  windowMs: number;
  leastBytes: number;
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
export async function receiveVideo(download: VideoDownload, options: ReceiveVideoOptions): Promise<string[]> {
  const { taskId } = options;
  let furthestBytes = download.bytes;
  for (let fruitless = 0; ; ) {
    try {
      return await receiveOnce(download, options);
    } catch (error) {
      if (!isWorthReconnecting(error)) throw error;
      fruitless = download.bytes >= furthestBytes + FRUITFUL_BYTES ? 0 : fruitless + 1;
      furthestBytes = Math.max(furthestBytes, download.bytes);
      if (fruitless === FRUITLESS_CONNECTIONS) throw error;
      logEvent('resuming', { taskId, bytes: download.bytes, reason: error.message });
    }
  }
}

/** One connection, from a fresh link to the end of its stream. A service may also send the video with its answer. */
async function receiveOnce(
  download: VideoDownload,
  { at, taskId, pace, signal }: ReceiveVideoOptions,
): Promise<string[]> {
  const { video, warnings } = await freshVideo(taskId, () =>
    callWithinLimits(at, 'poll', () => at.service.poll(taskId, { signal })),
  );
  const from = download.resumeFrom;
  const body =
    typeof video === 'string'
      ? await callWithinLimits(at, 'download', () => at.service.openVideo(video, { signal, from }))
      : openVideoBytes(video, { from });
  // It may break before it is read, and an error without a listener ends the process.
  body.stream.on('error', () => undefined);
  const watching = watchPace(body.stream, download, pace);
  const before = download.receivedBytes;
  try {
    await download.receive(body);
    return warnings;
  } catch (error) {
    throw signal.aborted ? error : faultOf(error, body);
  } finally {
    clearInterval(watching);
    measureReceived(download.receivedBytes - before);
    // A stream that is not read to its end would keep its connection open.
    body.stream.destroy();
  }
}

/** Ends a stream that is too slow. */
function watchPace(
  stream: Readable,
  download: VideoDownload,
  { windowMs, leastBytes }: DownloadPace,
): NodeJS.Timeout {
  let before = download.receivedBytes;
  return setInterval(() => {
    const received = download.receivedBytes - before;
    before = download.receivedBytes;
    if (received >= leastBytes || download.part.waitsForDisk) return;
    const message = `only ${received} bytes arrived in ${describeDuration(windowMs)}`;
    stream.destroy(new ServiceFault('cut', { message }));
  }, windowMs);
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
