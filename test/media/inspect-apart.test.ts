import { box, boxOf } from './boxes';
import { lookAt } from './inspect';
import { makeVideo } from './make-video';

const MOST = 0x7fffffff;
const TOO_MUCH = 'its tables take more time or memory to read than those of any video';

/** Adds a box to the tables of a video that ends with them. */
function withTable(file: Buffer, table: Buffer): Buffer {
  const at = boxOf(file, 'stts').at;
  const larger = Buffer.concat([file.subarray(0, at), table, file.subarray(at)]);
  for (const around of ['moov', 'trak', 'mdia', 'minf', 'stbl']) {
    const { at, size } = boxOf(larger, around);
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

/** One entry says that the video has so many samples. */
function withSamples(file: Buffer, samples: number): Buffer {
  const larger = withTable(file, ctts(samples));
  larger.writeUInt32BE(samples, boxOf(larger, 'stts').at + 16);
  return larger;
}

const running = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

describe('a video whose tables would take minutes and gigabytes to read', () => {
  it('is none when one entry stands for more samples than the file has bytes', async () => {
    const file = withTable(await makeVideo('MP4 that ends with its tables'), ctts(MOST));
    expect(await lookAt(file)).toEqual({
      kind: 'no-video',
      reason: `its ctts box tells of ${MOST} samples, and it has ${file.length} bytes`,
    });
  });

  it('is none when a fragment says so', async () => {
    const file = Buffer.from(await makeVideo('MP4 of fragments'));
    const { at } = boxOf(file, 'trun');
    file.writeUInt32BE(0, at + 8);
    file.writeUInt32BE(MOST, at + 12);
    expect(await lookAt(file)).toMatchObject({
      reason: expect.stringMatching(/^its trun box tells of 2147483647/),
    });
  });

  it('is none when the file has bytes enough, and nothing else notices', async () => {
    const file = await makeVideo('MP4 that ends with its tables');
    const samples = 12 * 1024 * 1024;
    const bomb = Buffer.concat([withSamples(file, samples), box('free', samples)]);
    const looks = await Promise.all([bomb, file, file].map((one) => lookAt(one)));
    expect(looks.map((look) => (look.kind === 'video' ? 'video' : look.reason))).toEqual([
      TOO_MUCH,
      'video',
      'video',
    ]);
  });
});

test('many videos that end together are looked at two at a time', async () => {
  const file = await makeVideo('QuickTime');
  // Tests of other files may have left some that are about to end.
  const before = running();
  const looks = Array.from({ length: 6 }, () => lookAt(file));
  let most = 0;
  for (const look of looks) {
    most = Math.max(most, running());
    expect(await look).toMatchObject({ kind: 'video' });
  }
  expect(most).toBeLessThanOrEqual(before + 2);
});

test('when there is nothing to look at, no process or pipe keeps this one from ending', async () => {
  const keepAlive = () =>
    running() + process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
  const before = keepAlive();
  await lookAt(await makeVideo('QuickTime'));
  expect(keepAlive()).toBeLessThanOrEqual(before);
});
