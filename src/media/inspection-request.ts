import type { Container } from '../contract/video-facts';
import type { RetainedRange } from './retained-bytes';
import type { ReadableRange } from './retained-reader';

/** What was retained of a video, for the process that inspects it. */
export interface InspectionRequest {
  container: Container;
  size: number;
  ranges: RetainedRange[];
}

/** JSON before the bytes: `ranges` says which parts of the file follow. */
interface RequestHead {
  container: Container;
  size: number;
  ranges: { at: number; length: number }[];
}

const LENGTH_BYTES = 4;

/** The request as buffers to write in this order; nothing is copied. */
export function encodeRequest({ container, size, ranges }: InspectionRequest): Buffer[] {
  const lengthOf = (pieces: Buffer[]) => pieces.reduce((sum, { length }) => sum + length, 0);
  const head: RequestHead = {
    container,
    size,
    ranges: ranges.map(({ at, pieces }) => ({ at, length: lengthOf(pieces) })),
  };
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  return [length, text, ...ranges.flatMap(({ pieces }) => pieces)];
}

export interface ReceivedRequest {
  container: Container;
  size: number;
  ranges: ReadableRange[];
}

/** The requests of a stream, one after the other. */
export async function* decodeRequests(stream: AsyncIterable<Buffer>): AsyncGenerator<ReceivedRequest> {
  const source = new ByteSource(stream);
  for (;;) {
    const length = await source.take(LENGTH_BYTES);
    if (!length) return;
    const text = await source.take(length.readUInt32BE());
    if (!text) return;
    const { container, size, ranges }: RequestHead = JSON.parse(text.toString());
    const received: ReadableRange[] = [];
    for (const { at, length } of ranges) {
      const bytes = await source.take(length);
      if (!bytes) return;
      received.push({ at, bytes });
    }
    yield { container, size, ranges: received };
  }
}

/** Takes a given number of bytes from a stream, whatever the size of its chunks. */
class ByteSource {
  private readonly chunks: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.chunks = stream[Symbol.asyncIterator]();
  }

  /** Undefined when the stream ends too early. */
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
