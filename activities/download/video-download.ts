import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { activityInfo } from '@temporalio/activity';
import type { StoredVideo } from '../../src/contract/job';
import { CONTAINERS, describeHead, HEAD_TO_SNIFF, PassingVideo, sniffContainer } from '../../src/media';
import { ServiceFault, type VideoBody } from '../../src/service';
import { asStorageFault, type IncomingVideo, storageFault, type VideoStorage } from '../../src/storage';
import { BadVideo, VideoTooLarge } from './bad-video';

/** Taken now and then: a copy of the hash for a heartbeat. */
const SNAPSHOT_EVERY_MS = 1_000;

/**
 * So much may wait to be written, and be added to again when half of it is. The more is written at once the faster; with
 * less, or with nothing added before all is written, a large video took a fifth longer.
 */
const MOST_UNWRITTEN_BYTES = 8 * 1024 * 1024;
const ROOM_AGAIN_BYTES = MOST_UNWRITTEN_BYTES / 2;

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
  video: StoredVideo;
  /** What could not be told of it, a sentence each. */
  doubts: string[];
}

/** Neither the server nor the file says how long it is: one that was cut between two of its parts looks the same. */
const MAY_BE_CUT =
  'no length was sent with it and its container does not say where it ends, so it could not be checked that all of it came';

interface Place {
  key: string;
  contentType: string;
  incoming: IncomingVideo;
  /** Rejects when nothing more can be stored, or is to be. */
  broken: Promise<never>;
}

/** One video on its way into the storage: hashed, counted and looked at in the same pass. */
export class VideoDownload {
  /** How many bytes have come, and of how many when somebody said so. */
  bytes = 0;
  of: number | undefined;
  /** While it does, a slow source is not to blame. */
  waitsForStorage = false;
  /** With what a server can be asked for the rest of the same video. */
  private validator: string | undefined;
  private hash = createHash('sha256');
  private passing = new PassingVideo();
  /** The first bytes, until there are enough to know what they are and so where they go. */
  private held: Buffer[] = [];
  private place: Place | undefined;
  private snapshot: { bytes: number; sha256: string } | undefined;
  private snapshotAtMs = 0;
  private onRoom: () => void = () => undefined;

  constructor(private readonly options: VideoDownloadOptions) {}

  /** Where a server may go on, if it still has the same video. */
  get resumePoint(): { offset: number; validator: string } | undefined {
    if (this.bytes === 0 || this.validator === undefined) return undefined;
    return { offset: this.bytes, validator: this.validator };
  }

  /** For the heartbeat: what the storage has confirmed, and not what is still on its way there. */
  get note(): PartNote | undefined {
    const part = this.place?.incoming.part;
    if (!this.place || !part || !this.snapshot || this.validator === undefined) return undefined;
    const { bytes, sha256 } = this.snapshot;
    return { key: this.place.key, part: part.name, bytes, sha256, validator: this.validator };
  }

  /** What an earlier attempt left is copied and not written on: that attempt may not know yet that it is over. */
  async resumeFrom({ key, part, bytes, sha256, validator }: PartNote): Promise<void> {
    const left = await this.options.storage.readPart?.(key, part);
    if (left === undefined) return;
    // Whatever is wrong with it, the video can still be had from its beginning.
    await this.take(left, bytes).catch(() => undefined);
    if (this.bytes === bytes && this.digest() === sha256) this.validator = validator;
    else await this.startOver();
  }

  /** Readies itself for what a server is about to bring. */
  async expect({ offset, bytes, validator }: VideoBody): Promise<void> {
    const hasChanged = offset > 0 && this.of !== undefined && bytes !== undefined && bytes !== this.of;
    if (offset !== this.bytes || hasChanged) await this.startOver();
    if (hasChanged) throw new ServiceFault('cut', { message: 'the video has another length than before' });
    this.refuseLarger(bytes ?? 0);
    this.of = bytes;
    this.passing.expect(bytes);
    this.validator = validator;
  }

  /** All that a stream brings, or as many bytes of it as are asked for. */
  async take(stream: Readable, most = Number.POSITIVE_INFINITY): Promise<void> {
    let left = most;
    await pump(stream, (chunk) => {
      const part = chunk.subarray(0, left);
      left -= part.length;
      return part.length > 0 ? this.takeChunk(part) : undefined;
    });
  }

  private takeChunk(chunk: Buffer): Promise<void> | undefined {
    this.bytes += chunk.length;
    this.refuseLarger(this.bytes);
    this.hash.update(chunk);
    this.passing.add(chunk);
    return this.place ? this.store(this.place, chunk) : this.hold(chunk);
  }

  private refuseLarger(bytes: number): void {
    const { largestBytes } = this.options;
    if (bytes > largestBytes) throw new VideoTooLarge(largestBytes);
  }

  /** The bytes so far were of another video, or cannot be gone on from. */
  async startOver(): Promise<void> {
    const { place } = this;
    this.place = undefined;
    this.bytes = 0;
    this.of = undefined;
    this.validator = undefined;
    this.hash = createHash('sha256');
    this.passing = new PassingVideo();
    this.held = [];
    this.snapshot = undefined;
    await asStorageFault(async () => place?.incoming.discard());
  }

  /** Everything has come: into its place with it, if it is a video. */
  async publish(): Promise<ReceivedVideo> {
    if (this.of !== undefined && this.bytes !== this.of) {
      throw new BadVideo(`${this.bytes} of ${this.of} bytes arrived`);
    }
    const place = this.place ?? (await this.open());
    const inspection = await this.passing.inspect();
    if (inspection.kind === 'no-video') throw new BadVideo(inspection.reason);
    const { container: _, ...facts } = inspection.facts;
    const whole = { bytes: this.bytes, sha256: this.digest() };
    const { uri } = await asStorageFault(() => place.incoming.publish(whole));
    this.place = undefined;
    const isWhole = this.of !== undefined || inspection.end === 'checked';
    return {
      key: place.key,
      video: { uri, ...whole, contentType: place.contentType, ...facts },
      doubts: isWhole ? [] : [MAY_BE_CUT],
    };
  }

  /** Leaves what has come for another attempt, where the storage can; answers how that one finds it. */
  async leave(): Promise<PartNote | undefined> {
    const { place, validator, bytes } = this;
    const part = place?.incoming.part;
    if (!part || validator === undefined) {
      await this.discard();
      return undefined;
    }
    this.place = undefined;
    await part.leave();
    return { key: place.key, part: part.name, bytes, sha256: this.digest(), validator };
  }

  async discard(): Promise<void> {
    const { place } = this;
    this.place = undefined;
    await place?.incoming.discard();
  }

  /** Keeps what has come for somebody to look at: all of it, or its beginning where the storage cannot; answers where. */
  async setAside(): Promise<string> {
    const { place } = this;
    this.place = undefined;
    const key = `${place?.key ?? this.options.keyFor('mp4')}.bad`;
    if (place?.incoming.setAside) return (await place.incoming.setAside(key)).uri;
    await place?.incoming.discard();
    return (await this.options.storage.write(key, this.passing.head(), 'application/octet-stream')).uri;
  }

  private digest(): string {
    return this.hash.copy().digest('hex');
  }

  private async hold(chunk: Buffer): Promise<void> {
    this.held.push(chunk);
    if (this.bytes >= HEAD_TO_SNIFF) await this.open();
  }

  /** The first bytes say what it is; what is no video is not stored at all. */
  private async open() {
    const head = this.passing.head();
    const container = sniffContainer(head);
    if (container === undefined) throw new BadVideo(describeHead(head));
    const { storage, owner, isRetry, signal, keyFor } = this.options;
    const { contentType, extension } = CONTAINERS[container];
    const key = keyFor(extension);
    const incoming = await asStorageFault(() => storage.receive(key, { owner, contentType, isRetry }));
    const broken = new Promise<never>((_, reject) => {
      incoming.sink.once('error', (error) => reject(storageFault(error)));
      incoming.sink.once('close', () => reject(storageFault('the storage has closed it')));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Heard by whoever writes next; until then it is nobody's unhandled rejection.
    broken.catch(() => undefined);
    this.place = { key, contentType, incoming, broken };
    await this.store(this.place, Buffer.concat(this.held.splice(0)));
    return this.place;
  }

  /** Answers with something to wait for when the storage has more to write than it should, or is broken. */
  private store(place: Place, chunk: Buffer): Promise<void> | undefined {
    const { sink } = place.incoming;
    const snapshot = this.dueSnapshot();
    sink.write(chunk, (error) => {
      if (!error && snapshot && this.place === place) this.snapshot = snapshot;
      if (sink.writableLength <= ROOM_AGAIN_BYTES) this.onRoom();
    });
    const hasRoom = sink.writableLength < MOST_UNWRITTEN_BYTES && !sink.destroyed;
    return hasRoom ? undefined : this.untilThereIsRoom(place);
  }

  private async untilThereIsRoom({ broken }: Place): Promise<void> {
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
 * Hands each chunk over as it comes, and holds the stream back while there is something to wait for. A loop that awaits
 * every chunk took a tenth longer for a large video.
 */
export function pump(stream: Readable, take: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let taking: Promise<void> | undefined;
    // A stream ends or breaks when it likes, however it is held back; it is over when its last chunk has been taken.
    const over = (end: () => void) => Promise.resolve(taking).then(end, reject);
    const fail = (error: unknown) => {
      stream.destroy();
      reject(error);
    };
    stream.on('data', (chunk: Buffer) => {
      try {
        taking = take(chunk);
        if (taking === undefined) return;
        stream.pause();
        taking.then(() => stream.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    stream.once('end', () => over(resolve));
    stream.once('error', (error) => over(() => reject(error)));
    stream.once('close', () => over(() => reject(new Error('the stream was closed before its end'))));
  });
}

/** What the storage has of a video that is on its way: enough for another attempt to check it and to go on. */
export interface PartNote {
  key: string;
  part: string;
  bytes: number;
  /** Of those bytes. */
  sha256: string;
  /** With what a server can be asked for the rest of the same video. */
  validator: string;
}

/** The note of the attempt before this one, if it got so far as to leave one. */
export function readPartNote(): PartNote | undefined {
  const { key, part, bytes, sha256, validator }: Partial<Record<keyof PartNote, unknown>> = Object(
    activityInfo().heartbeatDetails,
  );
  if (typeof key !== 'string' || typeof part !== 'string' || typeof bytes !== 'number') return undefined;
  if (typeof sha256 !== 'string' || typeof validator !== 'string') return undefined;
  return { key, part, bytes, sha256, validator };
}
