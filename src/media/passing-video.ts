import type { Container } from '../contract/video-facts';
import { type Box, BoxWalk, MOST_MOOV_BYTES } from './box-walk';
import { describeHead } from './describe-head';
import { ElementWalk } from './element-walk';
import { inspectApart } from './inspect-apart';
import type { InspectionOrder } from './inspect-order';
import type { VideoInspection } from './inspect-video';
import { KeptBytes, WINDOW_BYTES } from './kept-bytes';
import { sniffContainer, tsPacketBytes } from './sniff-container';

const MEBIBYTE = 1024 * 1024;

/** How much is kept of the first box of each type, wherever it passes: all tables, and a first picture. */
const KEPT_OF_FIRST = new Map([
  ['moov', MOST_MOOV_BYTES],
  ['moof', MEBIBYTE],
  ['mdat', WINDOW_BYTES],
]);

/**
 * Looks at a video while it passes to a place from which it cannot be read back. It keeps the two ends of it and its
 * tables, and walks along its outermost parts, in bounded memory: that is enough to tell a video that is whole, and its
 * facts.
 */
export class PassingVideo {
  private readonly kept = new KeptBytes();
  private readonly boxes = new BoxWalk((box, header) => this.keepFirst(box, header));
  private readonly elements = new ElementWalk();

  /** How many bytes it is said to have; it is looked at all the same if it has others. */
  expect(bytes: number | undefined): void {
    this.kept.of = bytes;
  }

  /** Every chunk in its order. It may be kept as it is: nobody may write to it afterwards. */
  keep(chunk: Buffer): void {
    this.boxes.pass(chunk);
    this.elements.pass(chunk);
    this.kept.keep(chunk);
  }

  /** The first bytes, as far as they are kept. */
  head(): Buffer {
    return this.kept.head();
  }

  /** Once all of it has passed: what it is. `read` reads what was kept of it, elsewhere unless told. */
  async look(
    read: (order: InspectionOrder) => Promise<VideoInspection> = inspectApart,
  ): Promise<VideoInspection> {
    const container = sniffContainer(this.head());
    if (!container) return { kind: 'no-video', reason: describeHead(this.head()) };
    const reason = this.problem(container);
    if (reason !== undefined) return { kind: 'no-video', reason };
    const look = await read({ container, size: this.kept.size, ranges: this.kept.ranges() });
    return look.kind === 'video' && this.hasKnownEnd(container) ? { ...look, end: 'checked' } : look;
  }

  private keepFirst({ type, at, size }: Box, header: Buffer): void {
    const most = KEPT_OF_FIRST.get(type);
    if (most !== undefined) this.kept.want(at, Math.min(size, most), header);
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
        return this.kept.size % (tsPacketBytes(this.head()) ?? 1) === 0
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
