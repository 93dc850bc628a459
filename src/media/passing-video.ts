import type { Container } from '../contract/video-facts';
import { BoxWalk } from './box-walk';
import { describeHead } from './describe-head';
import { ElementWalk } from './element-walk';
import { KeptBytes } from './kept-bytes';
import { readFacts, type VideoLook } from './read-facts';
import { sniffContainer, tsPacketBytes } from './sniff-container';

/**
 * Looks at a video while it passes to a place from which it cannot be read back. It keeps the two ends of it and walks
 * along its outermost parts, in constant memory: that is enough to tell a video that is whole, and its facts.
 */
export class PassingVideo {
  private readonly kept = new KeptBytes();
  private readonly boxes = new BoxWalk();
  private readonly elements = new ElementWalk();

  /** How many bytes it is said to have; it is looked at all the same if it has others. */
  expect(bytes: number | undefined): void {
    this.kept.of = bytes;
  }

  /** Every chunk in its order. It may be kept as it is: nobody may write to it afterwards. */
  keep(chunk: Buffer): void {
    this.kept.keep(chunk);
    this.boxes.pass(chunk);
    this.elements.pass(chunk);
  }

  /** The first bytes, as far as they are kept. */
  head(): Buffer {
    return this.kept.head();
  }

  /** Once all of it has passed: what it is. */
  async look(): Promise<VideoLook> {
    const container = sniffContainer(this.head());
    if (!container) return { kind: 'no-video', reason: describeHead(this.head()) };
    const reason = this.problem(container);
    if (reason !== undefined) return { kind: 'no-video', reason };
    return readFacts(this.kept.reader(), container);
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
}
