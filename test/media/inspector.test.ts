import { box, boxOf } from './boxes';
import { inspect } from './inspect';
import { makeVideo } from './make-video';

const MAX_SAMPLES = 0x7fffffff;
const TOO_MUCH = 'reading its tables takes more time or memory than any video needs';

/** Adds a box to the tables of a video that ends with them. */
function withTable(file: Buffer, table: Buffer): Buffer {
  const at = boxOf(file, 'stts').at;
  const larger = Buffer.concat([file.subarray(0, at), table, file.subarray(at)]);
  for (const parent of ['moov', 'trak', 'mdia', 'minf', 'stbl']) {
    const { at, size } = boxOf(larger, parent);
    larger.writeUInt32BE(size + table.length, at);
  }
  return larger;
}

function ctts(samples: number): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt32BE(1, 4);
  content.writeUInt32BE(samples, 8);
  return box('ctts', content);
}

/** One entry states that the video has that many samples. */
function withSamples(file: Buffer, samples: number): Buffer {
  const larger = withTable(file, ctts(samples));
  larger.writeUInt32BE(samples, boxOf(larger, 'stts').at + 16);
  return larger;
}

const running = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

describe('a video whose tables would take minutes and gigabytes to read', () => {
  it.each([
    ['stsz', 16],
    ['stco', 12],
    ['stsc', 12],
  ])('is refused when its %s counts more than the file has bytes', async (table, countAt) => {
    const file = Buffer.from(await makeVideo('MP4 that ends with its tables'));
    file.writeUInt32BE(MAX_SAMPLES, boxOf(file, table).at + countAt);
    expect(await inspect(file)).toMatchObject({ kind: 'no-video' });
  });

  it('is refused when a fragment has such a table', async () => {
    const file = Buffer.from(await makeVideo('MP4 of fragments'));
    const { at } = boxOf(file, 'trun');
    file.writeUInt32BE(0, at + 8);
    file.writeUInt32BE(MAX_SAMPLES, at + 12);
    expect(await inspect(file)).toMatchObject({ kind: 'no-video' });
  });

  it('is refused when the file has enough bytes, without effect on other inspections', async () => {
    const file = await makeVideo('MP4 that ends with its tables');
    const samples = 12 * 1024 * 1024;
    const bomb = Buffer.concat([withSamples(file, samples), box('free', samples)]);
    const inspections = await Promise.all([bomb, file, file].map((one) => inspect(one)));
    expect(
      inspections.map((inspection) => (inspection.kind === 'video' ? 'video' : inspection.reason)),
    ).toEqual([TOO_MUCH, 'video', 'video']);
  });
});

test('many videos that end together are inspected by one process', async () => {
  const file = await makeVideo('QuickTime');
  // Processes of earlier tests may be about to end.
  const before = running();
  const inspections = Array.from({ length: 6 }, () => inspect(file));
  let max = 0;
  for (const inspection of inspections) {
    max = Math.max(max, running());
    expect(await inspection).toMatchObject({ kind: 'video' });
  }
  expect(max).toBeLessThanOrEqual(before + 1);
});

test('an idle process or pipe does not keep this process alive', async () => {
  const keepAlive = () =>
    running() + process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
  const before = keepAlive();
  await inspect(await makeVideo('QuickTime'));
  expect(keepAlive()).toBeLessThanOrEqual(before);
});
