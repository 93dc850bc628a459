import { activityInfo } from '@temporalio/activity';
import { describeHead, HEAD_TO_SNIFF, sniffContainer } from '../../src/media/sniff-container';
import type { VideoBody } from '../../src/service/open-video';
import { ServiceFault } from '../../src/service/service-fault';
import type { PartFile } from '../../src/storage/part-file';
import { isPartName } from '../../src/storage/part-files';
import { BadVideo, TooManyBytes } from '../to-failure';

/** Which file has how much of a video, so that the next attempt on the same disk can check it and resume. */
export interface PartNote {
  part: string;
  bytes: number;
  /** Of those bytes. */
  sha256: string;
  /** The ETag or date with which a server resumes the same video. */
  validator: string;
}

/** One download in progress: what has arrived, and from where a server may resume. */
export class VideoDownload {
  /** The length that the server announced. */
  of: number | undefined;
  /** How many bytes came in this attempt, those that came twice included. */
  receivedBytes = 0;
  /** The first bytes, which show the container. */
  private head = Buffer.alloc(0);
  private validator: string | undefined;

  constructor(
    readonly part: PartFile,
    private readonly largestBytes: number,
  ) {}

  get bytes(): number {
    return this.part.bytes;
  }

  /** Where a server may resume, if it still has the same video. */
  get resumeFrom(): { offset: number; validator: string } | undefined {
    if (this.bytes === 0 || this.validator === undefined) return undefined;
    return { offset: this.bytes, validator: this.validator };
  }

  /** For the heartbeat; undefined when no server could resume it, or when so few bytes come again as quickly. */
  get note(): PartNote | undefined {
    const { validator, part } = this;
    const { name, onDisk } = part;
    if (!name || !onDisk || validator === undefined || onDisk.bytes < HEAD_TO_SNIFF) return undefined;
    return { part: name, ...onDisk, validator };
  }

  /** Continues with what an earlier attempt left on this disk, and removes the rest. */
  async takeOver(note: PartNote | undefined): Promise<void> {
    if (await this.part.takeOver(note && { ...note, name: note.part })) this.validator = note?.validator;
  }

  /** Receives the stream of a server, which resumes or starts over. */
  async receive({ stream, offset, bytes, validator }: VideoBody): Promise<void> {
    const hasChanged = offset > 0 && this.of !== undefined && bytes !== undefined && bytes !== this.of;
    if (offset !== this.bytes || hasChanged) await this.startOver();
    if (hasChanged) throw new ServiceFault('cut', { message: 'the length of the video has changed' });
    if (bytes !== undefined && bytes > this.largestBytes) throw new TooManyBytes(this.largestBytes);
    this.of = bytes;
    this.validator = validator;
    await this.part.append(stream, (chunk) => this.check(chunk));
  }

  /** Leaves the part for the next attempt, if that can resume. Returns the note that finds it. */
  async leave(): Promise<PartNote | undefined> {
    const { note } = this;
    await (note ? this.part.leave() : this.part.remove());
    return note;
  }

  private check(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    if (this.bytes + chunk.length > this.largestBytes) throw new TooManyBytes(this.largestBytes);
    if (this.bytes >= HEAD_TO_SNIFF) return;
    this.head = Buffer.concat([this.head, chunk.subarray(0, HEAD_TO_SNIFF - this.head.length)]);
    // What does not begin like a video is not read to its end.
    if (this.head.length === HEAD_TO_SNIFF && sniffContainer(this.head) === undefined)
      throw new BadVideo(describeHead(this.head));
  }

  private async startOver(): Promise<void> {
    await this.part.clear();
    this.of = undefined;
    this.validator = undefined;
    this.head = Buffer.alloc(0);
  }
}

/** The note of the attempt before this one, if it left one. */
export function readPartNote(): PartNote | undefined {
  const { part, bytes, sha256, validator }: Partial<Record<keyof PartNote, unknown>> = Object(
    activityInfo().heartbeatDetails,
  );
  if (typeof part !== 'string' || !isPartName(part) || typeof bytes !== 'number' || !(bytes > 0))
    return undefined;
  if (typeof sha256 !== 'string' || typeof validator !== 'string') return undefined;
  return { part, bytes, sha256, validator };
}
