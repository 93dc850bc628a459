import type { Readable } from 'node:stream';
import { FRUITFUL_BYTES } from '../../../src/contract/policies';
import { ServiceFault, type VideoBody, type VideoService } from '../../../src/service';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import {
  createMemoryWorld,
  cutAfter,
  FILES,
  inspectedVideo,
  type MemoryWorldOptions,
  reading,
  TASK,
} from './memory-world';

/** A video, and a larger one: the same with a box that players skip. */
let video: Buffer;
let large: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
  const free = Buffer.alloc(6 * FRUITFUL_BYTES - video.length);
  free.writeUInt32BE(free.length);
  free.write('free', 4, 'latin1');
  large = Buffer.concat([video, free]);
});

type Open = (from: NonNullable<Parameters<VideoService['open']>[1]>['from']) => VideoBody;

/** A world whose server answers as said, and the offsets at which connections begin. */
function worldOf(bytes: Buffer, open: Open, options: MemoryWorldOptions = {}) {
  const offsets: (number | undefined)[] = [];
  const service: Partial<VideoService> = {
    open: async (_link, { from } = {}) => {
      offsets.push(from?.offset);
      return open(from);
    },
  };
  return {
    offsets,
    ...createMemoryWorld(bytes, { ...options, service: { ...service, ...options.service } }),
  };
}
const whole = (bytes: Buffer, from: Parameters<Open>[0]) => openVideoBytes(bytes, from && { from });

describe('a download', () => {
  it('goes on with connections that bring 64 KiB each, however many it takes', async () => {
    const world = worldOf(large, (from) => {
      const body = whole(large, from);
      return (body.offset ?? 0) + FRUITFUL_BYTES < large.length ? cutAfter(FRUITFUL_BYTES, body) : body;
    });
    const { video: stored } = await world.download().result;
    expect(stored.bytes).toBe(large.length);
    expect(world.offsets).toEqual([undefined, ...[1, 2, 3, 4, 5].map((times) => times * FRUITFUL_BYTES)]);
  });

  it('gives up when connections bring only what it already had', async () => {
    const world = worldOf(large, () => cutAfter(100_000, whole(large, undefined)));
    const { failure } = await failureOf(world.download());
    expect(failure.type).toBe('ServiceUnreachable');
    expect(world.offsets).toEqual([undefined, 100_000, 100_000, 100_000]);
  });

  it('says in the log from where it resumes, and why', async () => {
    let connections = 0;
    const world = worldOf(video, (from) =>
      cutAfter(connections++ === 0 ? 5_000 : video.length, whole(video, from)),
    );
    await failureOf(world.download());
    expect(world.linesOf('resuming')[0]).toEqual({
      taskId: TASK,
      bytes: 5_000,
      reason: 'cut: socket closed',
    });
  });

  it('closes a connection that it does not read to its end', async () => {
    const streams: Readable[] = [];
    const page = Buffer.alloc(100_000, '<p>');
    const world = worldOf(page, (from) => {
      const body = whole(page, from);
      streams.push(body.stream);
      return { ...body, bytes: undefined };
    });
    const { failure } = await failureOf(world.download());
    expect([failure.type, streams.map(({ destroyed }) => destroyed)]).toEqual(['VideoCorrupt', [true]]);
  });

  it('is not tried with a fresh link when a link is not allowed, whatever it answered', async () => {
    const world = worldOf(video, () => {
      throw new ServiceFault('not-allowed', { status: 403, message: 'a private address' });
    });
    const { failure } = await failureOf(world.download());
    expect([failure.nonRetryable, world.offsets.length]).toEqual([true, 1]);
  });

  it('that waits for the answer to a poll stops when it is cancelled', async () => {
    const poll: VideoService['status'] = (_taskId, { signal } = {}) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        attempt.cancel();
      });
    const world = createMemoryWorld(video, { service: { status: poll } });
    const attempt = world.download();
    await expect(attempt.result).rejects.toThrow('CANCELLED');
  });
});

describe('a service that sends the video with its answer', () => {
  const withBytes = () =>
    createMemoryWorld(video, {
      service: {
        status: async () => reading({ state: 'succeeded', word: 'done', videoBytes: video }),
        open: () => Promise.reject(new Error('there is no link')),
      },
    });

  it('needs no link', async () => {
    const world = withBytes();
    await world.download().result;
    expect([...world.stored.keys()]).toEqual(FILES);
    expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
  });
});

describe('a task without a video', () => {
  it('that has not failed is not refused, whatever else the answer says', async () => {
    const poll = async () =>
      reading({ state: 'running', word: 'running' }, { refusedContent: { stage: 'prompt' } });
    const { failure, details } = await failureOf(
      createMemoryWorld(video, { service: { status: poll } }).download(),
    );
    expect(failure.type).toBe('NoVideo');
    expect(details).not.toHaveProperty('stage');
  });
});
