import type { Container } from '../contract/video-facts';
import type { KeptRange } from './kept-bytes';
import type { SeenRange } from './kept-reader';

/** A video to look at, as it goes to the process that does: what was kept of it. */
export interface InspectionOrder {
  container: Container;
  size: number;
  ranges: KeptRange[];
}

/** What stands before the bytes: `ranges` says which parts of the file follow. */
interface OrderHead {
  container: Container;
  size: number;
  ranges: { at: number; length: number }[];
}

const LENGTH_BYTES = 4;

/** The pieces of an order in the order in which they are written; nothing is copied. */
export function writeOrder({ container, size, ranges }: InspectionOrder): Buffer[] {
  const lengthOf = (pieces: Buffer[]) => pieces.reduce((sum, { length }) => sum + length, 0);
  const head: OrderHead = {
    container,
    size,
    ranges: ranges.map(({ at, pieces }) => ({ at, length: lengthOf(pieces) })),
  };
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  return [length, text, ...ranges.flatMap(({ pieces }) => pieces)];
}

export interface ReadOrder {
  container: Container;
  size: number;
  ranges: SeenRange[];
}

/** The orders that come in a stream, one after the other. */
export async function* readOrders(stream: AsyncIterable<Buffer>): AsyncGenerator<ReadOrder> {
  const source = new ByteSource(stream);
  for (;;) {
    const length = await source.take(LENGTH_BYTES);
    if (!length) return;
    const text = await source.take(length.readUInt32BE());
    if (!text) return;
    const { container, size, ranges }: OrderHead = JSON.parse(text.toString());
    const seen: SeenRange[] = [];
    for (const { at, length } of ranges) {
      const bytes = await source.take(length);
      if (!bytes) return;
      seen.push({ at, bytes });
    }
    yield { container, size, ranges: seen };
  }
}

/** Takes so many bytes at a time from a stream, wherever its chunks end. */
class ByteSource {
  private readonly chunks: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.chunks = stream[Symbol.asyncIterator]();
  }

  /** Undefined when the stream ends before that. */
  async take(length: number): Promise<Buffer | undefined> {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let have = 0; have < length; ) {
      if (this.rest.length === 0) {
        const next = await this.chunks.next();
        if (next.done) return undefined;
        this.rest = next.value;
      }
      const copied = this.rest.copy(bytes, have);
      this.rest = this.rest.subarray(copied);
      have += copied;
    }
    return bytes;
  }
}
