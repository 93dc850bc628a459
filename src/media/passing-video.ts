import type { Container, VideoFacts } from '../contract/video-facts';
import type { VideoInspection } from './inspect-video';
import type { InspectionRequest } from './inspection-request';
import { inspectInProcess } from './inspector';
import { ElementScan } from './matroska-elements';
import { type Box, BoxScan, MAX_MOOV_BYTES } from './mp4-boxes';
import { RetainedBytes, WINDOW_BYTES } from './retained-bytes';
import { describeHead, sniffContainer, tsPacketBytes } from './sniff-container';

const MEBIBYTE = 1024 * 1024;

/** How much of the first box of each type is retained, wherever it is: all tables, and a first picture. */
const RETAINED_OF_FIRST = new Map([
  ['moov', MAX_MOOV_BYTES],
  ['moof', MEBIBYTE],
  ['mdat', WINDOW_BYTES],
]);

/**
 * Inspects a video while it streams into a storage from which it cannot be read back. It retains both ends and the tables,
 * and scans the outermost parts, in bounded memory. That is enough to find its facts and whether it is complete.
 */
export class PassingVideo {
  private readonly retained = new RetainedBytes();
  private readonly boxes = new BoxScan((box, header) => this.retainFirst(box, header));
  private readonly elements = new ElementScan();

  /** How many bytes it should have. Another number is not an error here. */
  expect(bytes: number | undefined): void {
    this.retained.expectedSize = bytes;
  }

  /** Adds the next chunk. It may be retained without a copy, so it must not be changed afterwards. */
  add(chunk: Buffer): void {
    this.boxes.add(chunk);
    this.elements.add(chunk);
    this.retained.add(chunk);
  }

  /** The first bytes, up to some megabytes. */
  head(): Buffer {
    return this.retained.head();
  }

  /** Call it after the last chunk. */
  async inspect(
    inspectRetained: (request: InspectionRequest) => Promise<VideoInspection> = inspectInProcess,
  ): Promise<VideoInspection> {
    const container = sniffContainer(this.head());
    if (!container) return { kind: 'no-video', reason: describeHead(this.head()) };
    const reason = this.problem(container);
    if (reason !== undefined) return { kind: 'no-video', reason };
    const inspection = await inspectRetained({
      container,
      size: this.retained.size,
      ranges: this.retained.ranges(),
    });
    if (inspection.kind !== 'video') return inspection;
    return {
      ...inspection,
      facts: { ...inspection.facts, ...this.metadata(container) },
      ...(this.hasKnownEnd(container) && { end: 'checked' as const }),
    };
  }

  /** The specification names no place for it in Matroska, and none in a transport stream. */
  private metadata(container: Container): Pick<VideoFacts, 'c2pa'> {
    const bytes = container === 'mp4' || container === 'mov' ? this.boxes.c2paBytes : 0;
    return bytes > 0 ? { c2pa: { bytes } } : {};
  }

  private retainFirst({ type, at, size }: Box, header: Buffer): void {
    const maxBytes = RETAINED_OF_FIRST.get(type);
    if (maxBytes !== undefined) this.retained.retainPart(at, Math.min(size, maxBytes), header);
  }

  private problem(container: Container): string | undefined {
    switch (container) {
      case 'mp4':
      case 'mov':
        return this.boxes.problem();
      case 'webm':
      case 'mkv':
        return this.elements.problem();
      case 'ts':
        return this.retained.size % (tsPacketBytes(this.head()) ?? 1) === 0
          ? undefined
          : 'it ends within a packet of its transport stream';
    }
  }

  private hasKnownEnd(container: Container): boolean {
    switch (container) {
      case 'mp4':
      case 'mov':
        return this.boxes.endsWithIndex;
      case 'webm':
      case 'mkv':
        return this.elements.hasKnownEnd;
      case 'ts':
        return false;
    }
  }
}
