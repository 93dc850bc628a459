import { Readable } from 'node:stream';
import { activityInfo, metricMeter } from '@temporalio/activity';
import { z } from 'zod';
import { describeDuration } from '../../src/contract/duration';
import type { FailureType } from '../../src/contract/failure-table';
import { count, observe } from '../../src/contract/metrics';
import { FRUITFUL_BYTES, FRUITLESS_CONNECTIONS } from '../../src/contract/policies';
import { NO_SECRETS, redact } from '../../src/contract/redact';
import { describeHead, HEAD_TO_SNIFF, sniffContainer } from '../../src/media/sniff-container';
import type { FoundService, TaskReading, VideoBody } from '../../src/service';
import { ServiceFault } from '../../src/service/service-fault';
import { isPartName } from '../../src/storage/disk-files';
import type { PartFile } from '../../src/storage/part-file';
import { logEvent } from '../attempt';
import { callWithinLimits } from '../call-within-limits';
import { BadVideo, createCallFailure, isKnownFault, toFailure } from '../to-failure';

/** How slow a download may be before it is retried. */
export interface DownloadPace {
  /** In each window, at least `leastBytes` must arrive. */
  windowMs: number;
  leastBytes: number;
}

export interface OpenedSource {
  at: FoundService;
  taskId: string;
  pace: DownloadPace;
  largestBytes: number;
  signal: AbortSignal;
}

const noteSchema = z.object({
  part: z.string().refine(isPartName),
  bytes: z.number().positive(),
  /** Of those bytes. */
  sha256: z.string(),
  /** The ETag or date with which a server resumes the same video. */
  validator: z.string(),
});

/** Which file has how much of a video, so that the next attempt on the same disk can check it and resume. */
export type PartNote = z.infer<typeof noteSchema>;

/** The note of the attempt before this one, if it left one. */
export function readPartNote(): PartNote | undefined {
  return noteSchema.safeParse(activityInfo().heartbeatDetails).data;
}

/** One attempt to download a video into a part file: what has arrived, and from where a server may resume. */
export class VideoDownload {
  /** The length that the server announced. */
  of: number | undefined;
  /** How many bytes came in this attempt, those that came twice included. */
  private receivedBytes = 0;
  private validator: string | undefined;

  constructor(
    readonly part: PartFile,
    private readonly source: OpenedSource,
  ) {}

  /** For the heartbeat; undefined when no server could resume it, or when so few bytes come again as quickly. */
  get note(): PartNote | undefined {
    const { validator, part } = this;
    if (validator === undefined || part.bytes < HEAD_TO_SNIFF) return undefined;
    return { ...part.content, validator };
  }

  /** Continues with what an earlier attempt left on this disk, and removes the rest. */
  async takeOver(note: PartNote | undefined): Promise<void> {
    if (await this.part.takeOver(note)) this.validator = note?.validator;
  }

  /**
   * Connects until the whole video has arrived, each time with a fresh link and from where the last connection stopped. When
   * connections make no progress, it fails, so that Temporal's retry policy pauses. Returns what the service warns of.
   */
  async receive(): Promise<string[]> {
    const { part, source } = this;
    const startedAtMs = performance.now();
    let furthestBytes = part.bytes;
    for (let fruitless = 0; ; ) {
      try {
        const warnings = await this.connect();
        const seconds = Math.max((performance.now() - startedAtMs) / 1_000, 0.001);
        observe(metricMeter, 'videogen_download_speed_bytes_per_second', this.receivedBytes / seconds);
        return warnings;
      } catch (error) {
        if (!isWorthReconnecting(error)) throw error;
        fruitless = part.bytes >= furthestBytes + FRUITFUL_BYTES ? 0 : fruitless + 1;
        furthestBytes = Math.max(furthestBytes, part.bytes);
        if (fruitless === FRUITLESS_CONNECTIONS) throw error;
        logEvent('resuming', { taskId: source.taskId, bytes: part.bytes, reason: error.message });
      }
    }
  }

  /** Leaves the part for the next attempt, if that can resume. Returns the note that finds it. */
  async leave(): Promise<PartNote | undefined> {
    const { note } = this;
    await (note ? this.part.removeLeft() : this.part.remove());
    return note;
  }

  /** One connection, from a fresh link to the end of its stream. A service may also send the video with its answer. */
  private async connect(): Promise<string[]> {
    const { part, validator, receivedBytes: before } = this;
    const { at, signal } = this.source;
    const { video, warnings } = await freshVideo(this.source);
    // Where a server may resume, if it still has the same video.
    const from = part.bytes === 0 || validator === undefined ? undefined : { offset: part.bytes, validator };
    const body =
      typeof video === 'string'
        ? await callWithinLimits(at, 'download', () => at.service.open(video, { signal, from }))
        : { stream: Readable.from([video], { objectMode: false }), bytes: video.length };
    // It may break before it is read, and an error without a listener ends the process.
    body.stream.on('error', () => undefined);
    // Bytes that came with the answer are here already, however long a slow disk takes for them.
    const watching = typeof video === 'string' ? this.watchPace(body.stream) : undefined;
    try {
      await this.pump(body);
      return warnings;
    } catch (error) {
      throw signal.aborted ? error : faultOf(error);
    } finally {
      clearInterval(watching);
      const received = this.receivedBytes - before;
      if (received > 0) count(metricMeter, 'videogen_download_bytes_total', {}, received);
      // A stream that is not read to its end would keep its connection open.
      body.stream.destroy();
    }
  }

  /** Writes the stream of a server, which resumes or starts over, to the part. */
  private async pump({ stream, offset = 0, bytes, validator }: VideoBody): Promise<void> {
    const hasChanged = offset > 0 && this.of !== undefined && bytes !== undefined && bytes !== this.of;
    if (offset !== this.part.bytes || hasChanged) await this.part.clear();
    if (hasChanged) throw new ServiceFault('cut', { message: 'the length of the video has changed' });
    this.refuseIfLarger(bytes ?? 0);
    this.of = bytes;
    this.validator = validator;
    await this.part.append(stream, (chunk) => this.check(chunk));
  }

  private check(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    this.refuseIfLarger(this.part.bytes + chunk.length);
    // What does not begin like a video is not read to its end, if its first chunk shows that.
    const head = chunk.subarray(0, HEAD_TO_SNIFF);
    const showsKind = this.part.bytes === 0 && head.length === HEAD_TO_SNIFF;
    if (showsKind && sniffContainer(head) === undefined) throw new BadVideo(describeHead(head));
  }

  private refuseIfLarger(bytes: number): void {
    const { largestBytes } = this.source;
    if (bytes > largestBytes) throw new BadVideo(`it has more than ${largestBytes} bytes`, 'VideoTooLarge');
  }

  /** Ends a stream that is too slow. */
  private watchPace(stream: Readable): NodeJS.Timeout {
    const { windowMs, leastBytes } = this.source.pace;
    let before = this.receivedBytes;
    return setInterval(() => {
      const received = this.receivedBytes - before;
      before = this.receivedBytes;
      if (received >= leastBytes) return;
      const message = `only ${received} bytes arrived in ${describeDuration(windowMs)}`;
      stream.destroy(new ServiceFault('cut', { message }));
    }, windowMs);
  }
}

/** The link has expired or needs another key; the service may have a new one. */
const REFUSED_LINK: (number | undefined)[] = [401, 403, 404, 410];

function isWorthReconnecting(error: unknown): error is ServiceFault {
  if (!(error instanceof ServiceFault)) return false;
  return error.kind === 'cut' || (error.kind === 'answered' && REFUSED_LINK.includes(error.facts.status));
}

/** An error that is none of ours comes from the stream: the connection ended inside the video. */
function faultOf(error: unknown): unknown {
  if (isKnownFault(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  // These are words of Node or undici, which may quote the link but never saw the key.
  return new ServiceFault('cut', { message: redact(message, NO_SECRETS) });
}

/** The failure when the task has no video any more; `NoVideo` in other states. */
const WITHOUT_VIDEO: Partial<Record<TaskReading['task']['state'], FailureType>> = {
  failed: 'GenerationFailed',
  cancelled: 'GenerationCancelled',
};

/** Polls for the link, or the bytes. A link is never stored, because links are secrets and expire. */
async function freshVideo({ at, taskId, signal }: OpenedSource) {
  try {
    const reading = await callWithinLimits(at, 'poll', () => at.service.status(taskId, { signal }));
    const { task, serviceMessage, refusedContent, warnings = [] } = reading;
    const video = task.state === 'succeeded' ? (task.videoUrl ?? task.videoBytes) : undefined;
    if (video !== undefined) return { video, warnings };
    const refused = task.state === 'failed' ? refusedContent : undefined;
    const type = refused ? 'ContentRefused' : (WITHOUT_VIDEO[task.state] ?? 'NoVideo');
    throw createCallFailure(type, 'download', { taskId, ...serviceMessage, ...refused });
  } catch (error) {
    // The failure is that of a poll; its retries are those of the download.
    throw toFailure(error, 'poll', { taskId, retryAs: 'download' });
  }
}
