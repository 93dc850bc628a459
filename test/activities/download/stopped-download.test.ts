import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common';
import { HEARTBEAT_EVERY_MS } from '../../../src/contract/policies';
import type { VideoService } from '../../../src/service';
import { makeVideo } from '../../media/make-video';
import { openVideoBytes } from '../../support/open-video-bytes';
import { createMemoryWorld, cutAfter, sha256, TASK } from '../memory-world';

const realTimeout = setTimeout;

let video: Buffer;
beforeAll(async () => {
  video = await makeVideo('MP4 that begins with its tables');
});

/** A server that sends so many bytes and then nothing. `hasStalled` resolves after that, and after so much time of the activity. */
function stalling(bytes: number, afterMs = 0) {
  const server = new EventEmitter();
  const open: VideoService['open'] = async (_link, { signal } = {}) =>
    cutAfter(bytes, openVideoBytes(video), async () => {
      // Until the disk has it.
      await new Promise((resolve) => realTimeout(resolve, 500));
      if (afterMs > 0) await jest.advanceTimersByTimeAsync(afterMs);
      server.emit('stalled');
      if (signal) await once(signal, 'abort');
    });
  return { service: { open }, hasStalled: once(server, 'stalled') };
}

describe('the heartbeat of a download', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] }));
  afterEach(() => jest.useRealTimers());

  /** What a download that stalls says meanwhile. */
  async function saidBy(bytes: number, forMs: number, input = {}) {
    const { service, hasStalled } = stalling(bytes, forMs);
    const attempt = createMemoryWorld(video, { service }).download(input);
    await hasStalled;
    attempt.cancel();
    await expect(attempt.result).rejects.toThrow('CANCELLED');
    return attempt.beats;
  }

  it('has the bytes that have arrived, until there is a part', async () => {
    const beats = await saidBy(1_000, HEARTBEAT_EVERY_MS);
    expect(beats).toEqual([{ bytes: 1_000 }]);
  });

  it('has the part that the next attempt could resume', async () => {
    const beats = await saidBy(5_000, HEARTBEAT_EVERY_MS);
    expect(beats).toEqual([
      {
        part: expect.stringMatching(/[.]part$/),
        bytes: 5_000,
        sha256: sha256(video.subarray(0, 5_000)),
        validator: expect.any(String),
      },
    ]);
  });
});

describe('a download that is stopped', () => {
  const expectLeft = ({ partsFolder, parts }: ReturnType<typeof createMemoryWorld>, note: unknown) => {
    expect(note).toMatchObject({ part: parts()[0], bytes: 5_000 });
    const left = readFileSync(join(partsFolder, parts()[0] ?? ''));
    expect(left.equals(video.subarray(0, 5_000))).toBe(true);
  };

  async function stop(
    ...why: Parameters<ReturnType<ReturnType<typeof createMemoryWorld>['download']>['cancel']>
  ) {
    const { service, hasStalled } = stalling(5_000);
    const world = createMemoryWorld(video, { service });
    const attempt = world.download();
    await hasStalled;
    attempt.cancel(...why);
    const error: unknown = await attempt.result.catch((reason: unknown) => reason);
    return { world, error, note: attempt.beats.at(-1) };
  }

  it('leaves nothing when it is cancelled, and the log says how far it was', async () => {
    const { world, error, note } = await stop();
    expect(error).toMatchObject({ name: 'CancelledFailure' });
    expect([world.parts(), world.stored.size, note]).toEqual([[], 0, undefined]);
    expect(world.linesOf('downloadStopped')).toEqual([{ taskId: TASK, bytes: 5_000 }]);
  });

  it.each([
    ['is paused', 'PAUSED', { paused: true }],
    ['has timed out', 'TIMED_OUT', { timedOut: true }],
    ['is reset', 'RESET', { reset: true }],
  ] as const)('leaves its part when it %s', async (_what, reason, details) => {
    const { world, error, note } = await stop(reason, new ActivityCancellationDetails(details));
    expect(error).toMatchObject({ name: 'CancelledFailure' });
    expectLeft(world, note);
  });

  it('leaves its part when the worker shuts down, as a failure that is none', async () => {
    const details = new ActivityCancellationDetails({ workerShutdown: true });
    const { world, error, note } = await stop('WORKER_SHUTDOWN', details);
    expect(error).toBeInstanceOf(ApplicationFailure);
    expect(error).toMatchObject({ type: 'WorkerShutdown', category: 'BENIGN', nonRetryable: false });
    expectLeft(world, note);
  });

  it('while it waits for the answer to a poll ends as cancelled', async () => {
    const status: VideoService['status'] = (_taskId, { signal } = {}) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        attempt.cancel();
      });
    const attempt = createMemoryWorld(video, { service: { status } }).download();
    await expect(attempt.result).rejects.toThrow('CANCELLED');
  });
});
