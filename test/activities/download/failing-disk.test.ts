import { setTimeout as sleep } from 'node:timers/promises';
import { box } from '../../media/make-video';
import { disk, ioError } from '../../support/failing-disk';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import { createMemoryWorld, cutAfter, inspectedVideo, reading } from '../memory-world';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('../../support/failing-disk')>('../../support/failing-disk')
    .disk.over(jest.requireActual('node:fs/promises')),
);

const MIB = 1024 * 1024;

let video: Buffer;
/** Enough for several writes. */
let large: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
  large = Buffer.concat([video, box('free', 40 * MIB)]);
});
afterEach(() => disk.reset());

it.each(['ENOSPC', 'EDQUOT', 'EIO'])(
  'a disk that fails midway with %s fails the download clearly, and nothing is left on it',
  async (code) => {
    let left = 8 * MIB;
    disk.onWrite = (written) => {
      left -= written.length;
      if (left < 0) throw ioError(code);
    };
    const world = createMemoryWorld(large);
    const attempt = world.download();
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    expect(details.message).toContain(`${code}: the disk says so`);
    expect([world.parts(), [...world.stored.keys()]]).toEqual([[], []]);
  },
);

it('a disk that is full when an attempt resumes makes it start over', async () => {
  let isBroken = true;
  const open = async (_link: string, { from }: { from?: { offset: number; validator: string } } = {}) => {
    const body = openVideoBytes(video, from && { from });
    return isBroken ? cutAfter(from ? 0 : 5_000, body) : body;
  };
  const world = createMemoryWorld(video, { service: { open } });
  const first = world.download();
  await failureOf(first);
  isBroken = false;
  disk.onWrite = () => {
    disk.reset();
    throw ioError('ENOSPC');
  };
  const heartbeatDetails = first.beats.at(-1);
  expect(heartbeatDetails).toHaveProperty('part');
  const { video: stored } = await world.download({}, { attempt: 2, heartbeatDetails }).result;
  expect([stored.bytes, world.parts()]).toEqual([video.length, []]);
});

it('a slow disk gets its time for a video that came with the answer', async () => {
  const pace = { windowMs: 100, leastBytes: 1_000 };
  disk.onWrite = () => sleep(4 * pace.windowMs);
  const status = async () => reading({ state: 'succeeded', word: 'done', videoBytes: video });
  const world = createMemoryWorld(video, { pace, service: { status } });
  const { video: stored } = await world.download().result;
  expect([stored.bytes, world.linesOf('resuming')]).toEqual([video.length, []]);
});
