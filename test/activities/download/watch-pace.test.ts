import { PassThrough } from 'node:stream';
import { watchPace } from '../../../activities/download/watch-pace';

const PACE = { windowMs: 30_000, leastBytes: 1_000, attemptMs: 60_000 };

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

/** A stream that is watched for an hour at most, and why it ended. */
function watched({ endsInMs = 3_600_000 } = {}) {
  const stream = new PassThrough();
  const download = { bytes: 5_000, waitsForStorage: false };
  const ends: string[] = [];
  stream.on('error', (error) => ends.push(error.message));
  const stop = watchPace(stream, download, PACE, Date.now() + endsInMs);
  const passWindow = async (bytes: number) => {
    download.bytes += bytes;
    await jest.advanceTimersByTimeAsync(PACE.windowMs);
    return ends;
  };
  return { download, stream, passWindow, stop };
}

it('a stream goes on while enough bytes arrive in each window', async () => {
  const { passWindow } = watched();
  expect(await passWindow(9_000)).toEqual([]);
  expect(await passWindow(1_000)).toEqual([]);
  expect(await passWindow(999)).toEqual(['cut: only 999 bytes arrived in 30 s']);
});

it('a stream is not too slow while the storage is', async () => {
  const { download, passWindow } = watched();
  download.waitsForStorage = true;
  expect(await passWindow(0)).toEqual([]);
  download.waitsForStorage = false;
  expect(await passWindow(0)).toEqual(['cut: only 0 bytes arrived in 30 s']);
});

it('a stream ends when its attempt has taken too long, however quick it is', async () => {
  const { stream, passWindow } = watched({ endsInMs: PACE.windowMs });
  expect(await passWindow(9_000)).toEqual([
    'cut: the attempt took too long; the next one resumes the download',
  ]);
  expect(stream.destroyed).toBe(true);
});

it('nothing happens to a stream that is not watched any more', async () => {
  const { passWindow, stop } = watched({ endsInMs: 1 });
  stop();
  expect(await passWindow(0)).toEqual([]);
});
