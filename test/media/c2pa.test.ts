import { box } from './boxes';
import { inspect } from './inspect';
import { makeVideo } from './make-video';

const C2PA = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
const XMP = Buffer.from('be7acfcb97a942e89c71999491e3afac', 'hex');
/** A C2PA box: its UUID, version and flags, its purpose, the offset of the first Merkle box, and the manifest store. */
const manifest = (bytes: number) =>
  box(
    'uuid',
    Buffer.concat([
      C2PA,
      Buffer.from('\0\0\0\0manifest\0', 'latin1'),
      Buffer.alloc(8),
      Buffer.alloc(bytes, 'jumb'),
    ]),
  );

/** The same with its size in eight bytes. */
function long(given: Buffer): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(1);
  given.copy(head, 4, 4, 8);
  head.writeBigUInt64BE(BigInt(given.length + 8), 8);
  return Buffer.concat([head, given.subarray(8)]);
}

async function c2paOf(file: Buffer) {
  const inspection = await inspect(file);
  if (inspection.kind === 'no-video') throw new Error(inspection.reason);
  return inspection.facts.c2pa;
}

describe('the C2PA metadata of a video', () => {
  let video: Buffer;
  beforeAll(async () => {
    video = await makeVideo('MP4 that begins with its tables');
  });

  it('is counted with its headers', async () => {
    const file = Buffer.concat([video, manifest(1_000), box('free', 10), long(manifest(50))]);
    const bytes = manifest(1_000).length + long(manifest(50)).length;
    expect(await c2paOf(file)).toEqual({ bytes });
  });

  it('is found in a box that reaches the end of the file', async () => {
    const last = manifest(500);
    last.writeUInt32BE(0);
    expect((await c2paOf(Buffer.concat([video, last])))?.bytes).toBeGreaterThanOrEqual(last.length);
  });

  it('is no other metadata, and no bytes that look like it inside a box', async () => {
    const other = box('uuid', Buffer.concat([XMP, Buffer.alloc(100)]));
    const inside = box('free', manifest(100));
    const short = box('uuid', 4);
    expect(await c2paOf(Buffer.concat([video, other, inside, short]))).toBeUndefined();
  });

  it('is nothing in a container for which no place is specified', async () => {
    expect(await c2paOf(await makeVideo('Matroska'))).toBeUndefined();
  });
});
