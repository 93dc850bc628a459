import type { VideoInspection } from '../../src/media';
import { box, boxOf } from './boxes';
import { inspect } from './inspect';
import { asLiveRecording } from './live-recording';
import { makeVideo } from './make-video';

const NOTHING: Buffer = Buffer.alloc(0);

const reasonOf = (inspection: VideoInspection) =>
  inspection.kind === 'no-video' ? inspection.reason : inspection.end;

/** A box of version 0: version, flags, and these numbers. */
function numbers(type: string, ...values: number[]): Buffer {
  const content = Buffer.alloc(4 + 4 * values.length);
  values.forEach((value, index) => {
    content.writeUInt32BE(value, 4 + 4 * index);
  });
  return box(type, content);
}

describe('a video in fragments that was cut between two of them', () => {
  /** A file without its index, with the first `count` fragments, and with boxes added after `moov` and in `mvex`. */
  async function fragments({ count = Infinity, after = NOTHING, inMvex = NOTHING }) {
    const file = await makeVideo('MP4 of fragments', 64, 48, 2);
    const mvexAt = boxOf(file, 'mvex').at + 8;
    const moov = boxOf(file, 'moov');
    const head = Buffer.concat([
      file.subarray(0, mvexAt),
      inMvex,
      file.subarray(mvexAt, moov.at + moov.size),
    ]);
    for (const type of ['moov', 'mvex']) {
      const { at, size } = boxOf(head, type);
      head.writeUInt32BE(size + inMvex.length, at);
    }
    const rest = file.subarray(moov.at + moov.size, boxOf(file, 'mfra').at);
    const starts = [...rest.toString('latin1').matchAll(/moof/g)].map(({ index }) => index - 4);
    return {
      head,
      rest: Buffer.concat([after, rest.subarray(0, starts[count] ?? rest.length)]),
      media: rest.length,
    };
  }

  const whole = ({ head, rest }: { head: Buffer; rest: Buffer }) => Buffer.concat([head, rest]);

  it('passes when nothing states its length, with an end that is not stated', async () => {
    expect(reasonOf(await inspect(whole(await fragments({}))))).toBe('not-stated');
    expect(reasonOf(await inspect(whole(await fragments({ count: 2 }))))).toBe('not-stated');
  });

  it('is refused when it states its length in seconds', async () => {
    const { head } = await fragments({});
    const mvhd = boxOf(head, 'mvhd').at;
    const inMvex = numbers('mehd', 4 * head.readUInt32BE(mvhd + 20));
    expect(reasonOf(await inspect(whole(await fragments({ inMvex }))))).toBe('checked');
    expect(reasonOf(await inspect(whole(await fragments({ inMvex, count: 2 }))))).toMatch(
      /^it says that it is 4 s long, but ends after [12] s$/,
    );
  });

  it('is refused when it has an index at its beginning', async () => {
    const { media } = await fragments({});
    const after = numbers('sidx', 1, 1000, 0, 0, 1, media, 4000, 0x90000000);
    expect(reasonOf(await inspect(whole(await fragments({ after }))))).toBe('checked');
    expect(reasonOf(await inspect(whole(await fragments({ after, count: 2 }))))).toMatch(
      /^its sidx box lists \d+ bytes, but the file has \d+$/,
    );
  });

  it('passes when its index lists only its first fragment', async () => {
    const after = numbers('sidx', 1, 1000, 0, 0, 1, 100, 1000, 0x90000000);
    expect(reasonOf(await inspect(whole(await fragments({ after }))))).toBe('not-stated');
  });
});

describe('a live recording in Matroska that was cut between two of its parts', () => {
  const CLUSTER = Buffer.from('1f43b675', 'hex');
  const CUES = Buffer.from('1c53bb6b', 'hex');

  it('is refused when it states its length in seconds', async () => {
    const file = asLiveRecording(await makeVideo('Matroska'));
    // Without its SeekHead, only the duration is left.
    const seekHead = file.indexOf(Buffer.from('114d9b74', 'hex'));
    const cut = Buffer.concat([
      file.subarray(0, seekHead),
      file.subarray(file.lastIndexOf(Buffer.from('1549a966', 'hex')), file.lastIndexOf(CUES)),
    ]);
    expect(reasonOf(await inspect(cut))).toBe('checked');
    const duration = cut.indexOf(Buffer.from('4489', 'hex')) + 3;
    if (cut[duration - 1] === 0x88) cut.writeDoubleBE(2 * cut.readDoubleBE(duration), duration);
    else cut.writeFloatBE(2 * cut.readFloatBE(duration), duration);
    expect(reasonOf(await inspect(cut))).toMatch(/^it says that it is 8 s long, but ends after (3.5|4) s$/);
  });

  it('passes when nothing states its length, with an end that is not stated', async () => {
    const file = await makeVideo('Matroska of a live recording');
    expect(file.indexOf(CLUSTER)).toBeGreaterThan(0);
    expect(reasonOf(await inspect(file.subarray(0, file.lastIndexOf(CUES))))).toBe('not-stated');
  });
});
