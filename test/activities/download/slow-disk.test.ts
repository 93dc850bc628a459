import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { openVideoBytes } from '../../../src/service';
import { box } from '../../media/boxes';
import { disk, ioError } from '../../support/slow-disk';
import { failureOf } from '../activity-world';
import { createMemoryWorld, cutAfter, inspectedVideo } from './memory-world';

jest.mock('node:fs', () =>
  jest
    .requireActual<typeof import('../../support/slow-disk')>('../../support/slow-disk')
    .disk.over(jest.requireActual('node:fs')),
);

const MIB = 1024 * 1024;

let video: Buffer;
/** Enough for several writes, and for a sync while more comes. */
let large: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
  large = Buffer.concat([video, box('free', 40 * MIB)]);
});
afterEach(() => disk.reset());

it('a disk that writes only a part of each buffer gets the whole video', async () => {
  disk.onWrite = (write, [first = Buffer.alloc(0)], position) => write([first.subarray(0, 7_777)], position);
  const world = createMemoryWorld(video);
  const { video: stored } = await world.download().result;
  expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
  expect(stored.sha256).toBe(createHash('sha256').update(video).digest('hex'));
});

it.each(['ENOSPC', 'EDQUOT', 'EIO'])(
  'a disk that fails midway with %s fails the download clearly, and nothing is left on it',
  async (code) => {
    let left = 8 * MIB;
    disk.onWrite = async (write, buffers, position) => {
      const { bytesWritten } = await write(buffers, position);
      left -= bytesWritten;
      if (left < 0) throw ioError(code);
      return { bytesWritten };
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
    return Promise.reject(ioError('ENOSPC'));
  };
  const heartbeatDetails = first.beats.at(-1);
  expect(heartbeatDetails).toHaveProperty('part');
  const { video: stored } = await world.download({}, { attempt: 2, heartbeatDetails }).result;
  expect([stored.bytes, world.parts()]).toEqual([video.length, []]);
});

describe('a server that sends too little', () => {
  const pace = { windowMs: 300, leastBytes: 1_000 };
  const stalling = (bytes: number) => async () => {
    const stream = new Readable({ read: () => undefined });
    stream.push(video.subarray(0, bytes));
    return { ...openVideoBytes(video), stream };
  };

  it('is left, and the failure says how little', async () => {
    const world = createMemoryWorld(video, { pace, service: { open: stalling(5_000) } });
    const { failure } = await failureOf(world.download());
    expect(failure.type).toBe('ServiceUnreachable');
    expect(failure.message).toContain('bytes arrived in 300 ms');
  });
});
