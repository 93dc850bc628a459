import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { activityInfo } from '@temporalio/activity';
import type { StoredVideo } from '../../src/contract/job';
import { CONTAINERS, describeHead, HEAD_TO_SNIFF, PassingVideo, sniffContainer } from '../../src/media';
import { ServiceFault, type VideoBody } from '../../src/service';
import { asStorageFault, type IncomingVideo, storageFault, type VideoStorage } from '../../src/storage';
import { BadVideo, TooManyBytes } from './bad-video';

/** How often the hash is copied for a heartbeat. */
const SNAPSHOT_EVERY_MS = 1_000;

/**
 * At most this much waits to be written; the source continues when half of it is. With less, or with waiting until all of
 * it is written, a large video took a fifth longer.
 */
const MOST_UNWRITTEN_BYTES = 8 * 1024 * 1024;
const RESUME_AT_BYTES = MOST_UNWRITTEN_BYTES / 2;

export interface VideoDownloadOptions {
  storage: VideoStorage;
  owner: string;
  isRetry: boolean;
  largestBytes: number;
  signal: AbortSignal;
  keyFor(extension: string): string;
}

export interface ReceivedVideo {
  key: string;
  /** The same video was under the key already. */
  wasThere: boolean;
  video: StoredVideo;
  /** What could not be checked, one sentence each. */
  doubts: string[];
}

/** A file without a stated length that was cut between two of its parts looks complete. */
const MAY_BE_CUT =
  'the server sent no length and the container does not say where the video ends, so completeness could not be checked';

/** The file in the storage that a download writes to. */
interface OpenTarget {
  key: string;
  contentType: string;
  incoming: IncomingVideo;
  /** Rejects when the storage fails or the download is cancelled. */
  broken: Promise<never>;
}

/** One download in progress. Each byte is stored, hashed, counted and inspected in one pass. */
export class VideoDownload {
  /** How many bytes have arrived, and the length that the server announced. */
  bytes = 0;
  of: number | undefined;
  /** Meanwhile the source is not too slow. */
  waitsForStorage = false;
  /** The ETag or date with which a server resumes the same video. */
  private validator: string | undefined;
  private hash = createHash('sha256');
  private passing = new PassingVideo();
  /** The first bytes, until they are enough to know the container, and so the key. */
  private head: Buffer[] = [];
  private target: OpenTarget | undefined;
  private snapshot: { bytes: number; sha256: string } | undefined;
  private snapshotAtMs = 0;
  private onRoom: () => void = () => undefined;

  constructor(private readonly options: VideoDownloadOptions) {}

  /** Where a server may resume, if it still has the same video. */
  get resumePoint(): { offset: number; validator: string } | undefined {
    if (this.bytes === 0 || this.validator === undefined) return undefined;
    return { offset: this.bytes, validator: this.validator };
  }

  /** For the heartbeat: what the storage has confirmed, not what is still being written. */
  get note(): PartNote | undefined {
    const part = this.target?.incoming.part;
    if (!this.target || !part || !this.snapshot || this.validator === undefined) return undefined;
    const { bytes, sha256 } = this.snapshot;
    return { key: this.target.key, part: part.name, bytes, sha256, validator: this.validator };
  }

  /** Copies what an earlier attempt left. It does not append to it, because that attempt may still be writing. */
  async resumeFrom({ key, part, bytes, sha256, validator }: PartNote): Promise<void> {
    const partial = await this.options.storage.readPart?.(key, part);
    if (partial === undefined) return;
    // If the partial file is bad, the download starts over.
    await this.write(partial, bytes).catch(() => undefined);
    if (this.bytes === bytes && this.digest() === sha256) this.validator = validator;
    else await this.startOver();
  }

  /** Prepares for the stream of a server: resumes, or starts over. */
  async expect({ offset, bytes, validator }: VideoBody): Promise<void> {
    const hasChanged = offset > 0 && this.of !== undefined && bytes !== undefined && bytes !== this.of;
    if (offset !== this.bytes || hasChanged) await this.startOver();
    if (hasChanged) throw new ServiceFault('cut', { message: 'the length of the video has changed' });
    this.refuseLarger(bytes ?? 0);
    this.of = bytes;
    this.passing.expect(bytes);
    this.validator = validator;
  }

  /** Writes a stream to the storage, or its first bytes. */
  async write(stream: Readable, mostBytes = Number.POSITIVE_INFINITY): Promise<void> {
    let remaining = mostBytes;
    await pump(stream, (chunk) => {
      const part = chunk.subarray(0, remaining);
      remaining -= part.length;
      return part.length > 0 ? this.writeChunk(part) : undefined;
    });
  }

  private writeChunk(chunk: Buffer): Promise<void> | undefined {
    this.bytes += chunk.length;
    this.refuseLarger(this.bytes);
    this.hash.update(chunk);
    this.passing.add(chunk);
    return this.target ? this.store(this.target, chunk) : this.collectHead(chunk);
  }

  private refuseLarger(bytes: number): void {
    const { largestBytes } = this.options;
    if (bytes > largestBytes) throw new TooManyBytes(largestBytes);
  }

  /** The bytes so far belong to another video, or cannot be resumed. */
  private async startOver(): Promise<void> {
    const { target } = this;
    this.target = undefined;
    this.bytes = 0;
    this.of = undefined;
    this.validator = undefined;
    this.hash = createHash('sha256');
    this.passing = new PassingVideo();
    this.head = [];
    this.snapshot = undefined;
    await asStorageFault(async () => target?.incoming.discard());
  }

  /** Publishes the video under its key, if it is complete. `prepare` is called with the key before. */
  async publish(prepare: (key: string) => Promise<void> = async () => undefined): Promise<ReceivedVideo> {
    if (this.of !== undefined && this.bytes !== this.of) {
      throw new BadVideo(`${this.bytes} of ${this.of} bytes arrived`);
    }
    const target = this.target ?? (await this.open());
    const inspection = await this.passing.inspect();
    if (inspection.kind === 'no-video') throw new BadVideo(inspection.reason);
    const { container: _, ...facts } = inspection.facts;
    const whole = { bytes: this.bytes, sha256: this.digest() };
    await prepare(target.key);
    const { uri, wasThere = false } = await asStorageFault(() => target.incoming.publish(whole));
    this.target = undefined;
    const isComplete = this.of !== undefined || inspection.end === 'checked';
    return {
      key: target.key,
      wasThere,
      video: { uri, ...whole, contentType: target.contentType, ...facts },
      doubts: isComplete ? [] : [MAY_BE_CUT],
    };
  }

  /** Leaves the partial file for the next attempt, if the storage supports it. Returns the note that finds it. */
  async leave(): Promise<PartNote | undefined> {
    const { target, validator, bytes } = this;
    const part = target?.incoming.part;
    if (!part || validator === undefined) {
      await this.discard();
      return undefined;
    }
    this.target = undefined;
    await part.leave();
    return { key: target.key, part: part.name, bytes, sha256: this.digest(), validator };
  }

  async discard(): Promise<void> {
    const { target } = this;
    this.target = undefined;
    await target?.incoming.discard();
  }

  /** Stores a bad file as `<key>.bad`: all of it, or its beginning if the storage cannot. Returns its URI. */
  async setAside(): Promise<string> {
    const { target } = this;
    this.target = undefined;
    const key = `${target?.key ?? this.options.keyFor('mp4')}.bad`;
    if (target?.incoming.setAside) return (await target.incoming.setAside(key)).uri;
    await target?.incoming.discard();
    return (await this.options.storage.write(key, this.passing.head(), 'application/octet-stream')).uri;
  }

  private digest(): string {
    return this.hash.copy().digest('hex');
  }

  private async collectHead(chunk: Buffer): Promise<void> {
    this.head.push(chunk);
    if (this.bytes >= HEAD_TO_SNIFF) await this.open();
  }

  /** The first bytes show the container. What is not a video is not stored at all. */
  private async open(): Promise<OpenTarget> {
    const head = this.passing.head();
    const container = sniffContainer(head);
    if (container === undefined) throw new BadVideo(describeHead(head));
    const { storage, owner, isRetry, signal, keyFor } = this.options;
    const { contentType, extension } = CONTAINERS[container];
    const key = keyFor(extension);
    const incoming = await asStorageFault(() => storage.receive(key, { owner, contentType, isRetry }));
    const broken = new Promise<never>((_, reject) => {
      incoming.sink.once('error', (error) => reject(storageFault(error)));
      incoming.sink.once('close', () => reject(storageFault('the storage closed the file')));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // The next write reports it; without a write it must not become an unhandled rejection.
    broken.catch(() => undefined);
    this.target = { key, contentType, incoming, broken };
    await this.store(this.target, Buffer.concat(this.head.splice(0)));
    return this.target;
  }

  /** Returns a promise to wait for when too much is unwritten, or the storage is broken. */
  private store(target: OpenTarget, chunk: Buffer): Promise<void> | undefined {
    const { sink } = target.incoming;
    const snapshot = this.dueSnapshot();
    sink.write(chunk, (error) => {
      if (!error && snapshot && this.target === target) this.snapshot = snapshot;
      if (sink.writableLength <= RESUME_AT_BYTES) this.onRoom();
    });
    const hasRoom = sink.writableLength < MOST_UNWRITTEN_BYTES && !sink.destroyed;
    return hasRoom ? undefined : this.waitForRoom(target);
  }

  private async waitForRoom({ broken }: OpenTarget): Promise<void> {
    const room = new Promise<void>((resolve) => {
      this.onRoom = resolve;
    });
    this.waitsForStorage = true;
    await Promise.race([room, broken]);
    this.waitsForStorage = false;
  }

  private dueSnapshot() {
    const nowMs = performance.now();
    if (nowMs - this.snapshotAtMs < SNAPSHOT_EVERY_MS) return undefined;
    this.snapshotAtMs = nowMs;
    return { bytes: this.bytes, sha256: this.digest() };
  }
}

/**
 * Writes each chunk of a stream, and pauses the stream only while a write returns a promise. A loop that awaits every chunk
 * took a tenth longer for a large video.
 */
export function pump(stream: Readable, write: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let writing: Promise<void> | undefined;
    // A paused stream may still end or break; the last write comes first.
    const finish = (end: () => void) => Promise.resolve(writing).then(end, reject);
    const fail = (error: unknown) => {
      stream.destroy();
      reject(error);
    };
    stream.on('data', (chunk: Buffer) => {
      try {
        writing = write(chunk);
        if (writing === undefined) return;
        stream.pause();
        writing.then(() => stream.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    stream.once('end', () => finish(resolve));
    stream.once('error', (error) => finish(() => reject(error)));
    stream.once('close', () => finish(() => reject(new Error('the stream was closed before its end'))));
  });
}

/** What the storage has of a video, so that the next attempt can check it and resume. */
export interface PartNote {
  key: string;
  part: string;
  bytes: number;
  /** Of those bytes. */
  sha256: string;
  /** The ETag or date with which a server resumes the same video. */
  validator: string;
}

/** The note of the attempt before this one, if it left one. */
export function readPartNote(): PartNote | undefined {
  const { key, part, bytes, sha256, validator }: Partial<Record<keyof PartNote, unknown>> = Object(
    activityInfo().heartbeatDetails,
  );
  if (typeof key !== 'string' || typeof part !== 'string' || typeof bytes !== 'number') return undefined;
  if (typeof sha256 !== 'string' || typeof validator !== 'string') return undefined;
  return { key, part, bytes, sha256, validator };
}
