import { EventEmitter, once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common';
import { FRUITFUL_BYTES, HEARTBEAT_EVERY_MS } from '../../../src/contract/policies';
import type { VideoBody, VideoService } from '../../../src/service';
import { newPartName } from '../../../src/storage';
import { box, makeVideo } from '../../media/make-video';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import {
  createMemoryWorld,
  cutAfter,
  inspectedVideo,
  type MemoryWorldOptions,
  sha256,
  TASK,
} from '../memory-world';

let video: Buffer;
let validator: string;
beforeAll(async () => {
  video = await inspectedVideo();
  validator = openVideoBytes(video).validator ?? '';
});

type From = { offset: number; validator: string } | undefined;
type Connection = (from: From) => VideoBody;
const whole: Connection = (from) => openVideoBytes(video, from && { from });

/** A world whose server answers each connection in its turn, and the offsets at which they begin. */
function worldOf(connections: Connection[], options: MemoryWorldOptions = {}) {
  const offsets: (number | undefined)[] = [];
  const open: VideoService['open'] = async (_link, { from } = {}) => {
    offsets.push(from?.offset);
    return (connections[offsets.length - 1] ?? connections.at(-1) ?? whole)(from);
  };
  return { offsets, ...createMemoryWorld(video, { service: { open }, ...options }) };
}

test('a download that fails leaves its part with a note of all its bytes, and the next attempt resumes there', async () => {
  let hasRecovered = false;
  const world = worldOf([(from) => (hasRecovered ? whole(from) : cutAfter(from ? 0 : 5_000, whole(from)))]);
  const first = world.download();
  await failureOf(first);
  const [part = ''] = world.parts();
  const left = video.subarray(0, 5_000);
  const note = { part, bytes: 5_000, sha256: sha256(left), validator };
  expect(first.beats.at(-1)).toEqual(note);
  expect(readFileSync(join(world.partsFolder, part)).equals(left)).toBe(true);
  expect(world.linesOf('resuming')[0]).toEqual({
    taskId: TASK,
    bytes: 5_000,
    reason: 'cut: socket closed',
  });

  hasRecovered = true;
  world.offsets.splice(0);
  const second = world.download({}, { attempt: 2, heartbeatDetails: note });
  expect((await second.result).video.sha256).toBe(sha256(video));
  // Until it has a note of its own, it repeats that of the attempt before.
  expect([world.offsets, second.beats, world.parts()]).toEqual([[5_000], [note], []]);
  expect(world.linesOf('downloading').at(-1)).toEqual({ taskId: TASK, bytes: 5_000 });
});

test.each<[what: string, bytes: number, change: Partial<VideoBody>]>([
  ['the server cannot resume', 5_000, { validator: undefined }],
  ['hardly anything has come', 4_095, {}],
])('a download that fails leaves nothing when %s', async (_what, bytes, change) => {
  const world = worldOf([(from) => ({ ...cutAfter(from ? 0 : bytes, whole(from)), ...change })]);
  const attempt = world.download();
  await failureOf(attempt);
  expect([world.parts(), attempt.beats.filter((beat) => Object(beat).part)]).toEqual([[], []]);
});

test('a download gives up when connections bring only what it already had, however much that is', async () => {
  const large = Buffer.concat([video, box('free', Buffer.alloc(6 * FRUITFUL_BYTES))]);
  const offsets: (number | undefined)[] = [];
  const open: VideoService['open'] = async (_link, { from } = {}) => {
    offsets.push(from?.offset);
    return cutAfter(100_000, openVideoBytes(large));
  };
  const { failure } = await failureOf(createMemoryWorld(large, { service: { open } }).download());
  expect(failure.type).toBe('ServiceUnreachable');
  expect(offsets).toEqual([undefined, 100_000, 100_000, 100_000]);
});

test('what does not begin like a video is not read to its end', async () => {
  let chunks = 0;
  const page = function* () {
    for (; chunks < 1_000; chunks++) yield Buffer.alloc(64 * 1024, '<p>');
  };
  const open: VideoService['open'] = async () => ({
    stream: Readable.from(page(), { objectMode: false }),
    bytes: undefined,
  });
  const { failure } = await failureOf(createMemoryWorld(video, { service: { open } }).download());
  expect(failure.type).toBe('VideoCorrupt');
  expect(failure.message).toContain('it begins like a web page');
  expect(chunks).toBeLessThan(20);
});

describe('the next attempt on the same disk', () => {
  /** The next attempt, when one left a part with these bytes and this note. */
  function resume(part: Buffer, note: object = {}) {
    const world = worldOf([whole]);
    const name = newPartName('test task-1');
    writeFileSync(join(world.partsFolder, name), part);
    const ofPart = { part: name, bytes: part.length, sha256: sha256(part), validator };
    const heartbeatDetails = { ...ofPart, ...note };
    return { ...world, again: world.download({}, { attempt: 2, heartbeatDetails }) };
  }

  test.each<[what: string, part: () => Buffer, note: () => object, offset: number | undefined]>([
    [
      'takes over as many bytes as are noted',
      () => video.subarray(0, 5_500),
      () => ({ bytes: 5_000, sha256: sha256(video.subarray(0, 5_000)) }),
      5_000,
    ],
    [
      'asks for the rest and gets the whole when the file has changed at the server',
      () => video.subarray(0, 5_000),
      () => ({ validator: '"another"' }),
      5_000,
    ],
    [
      'starts over when the part is shorter than noted',
      () => video.subarray(0, 4_999),
      () => ({ bytes: 5_000 }),
      undefined,
    ],
    [
      'starts over when the part has other bytes, as after a power cut',
      () => Buffer.concat([video.subarray(0, 4_990), Buffer.alloc(10)]),
      () => ({ sha256: sha256(video.subarray(0, 5_000)) }),
      undefined,
    ],
    ['starts over when the part is gone', () => video, () => ({ part: newPartName('somebody') }), undefined],
    ['reads no other file', () => video, () => ({ part: '../../etc/passwd' }), undefined],
    ['starts over without a validator', () => video, () => ({ validator: undefined }), undefined],
  ])('%s, and leaves only the video', async (_what, part, note, offset) => {
    const { again, offsets, parts, stored } = resume(part(), note());
    await again.result;
    expect([offsets, parts()]).toEqual([[offset], []]);
    expect(stored.get('test.mp4')?.equals(video)).toBe(true);
  });

  test('is not disturbed by one that was taken for dead and still writes', async () => {
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const other = Buffer.concat([video.subarray(0, 5_000), Buffer.alloc(video.length - 5_000, 7)]);
    const dead: Connection = () => ({
      ...cutAfter(5_000, openVideoBytes(other), () => held),
      bytes: video.length,
    });
    const world = worldOf([dead, whole]);
    const zombie = world.download();
    const failed = zombie.result.catch((error: unknown) => error);
    while (world.parts().length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { video: stored } = await world.download({}, { attempt: 2 }).result;
    goOn();
    await failed;
    expect([stored.sha256, world.parts()]).toEqual([sha256(video), []]);
  });
});

test('a video is doubted if neither the server nor the file says where it ends', async () => {
  const warningsOf = async (bytes: Buffer, isStated: boolean) => {
    const length = isStated ? {} : { bytes: undefined };
    const world = worldOf([(from) => ({ ...openVideoBytes(bytes, from && { from }), ...length })]);
    return (await world.download().result).warnings;
  };
  const fragments = await makeVideo('MP4 of fragments');
  const endless = fragments.subarray(0, fragments.indexOf('mfra') - 4);
  expect(await warningsOf(endless, false)).toEqual([
    'the server sent no length and the container does not say where the video ends, so completeness could not be checked',
  ]);
  expect(await warningsOf(endless, true)).toEqual([]);
  expect(await warningsOf(video, false)).toEqual([]);
});

const realTimeout = setTimeout;

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
});
