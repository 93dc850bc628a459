import { EventEmitter, once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common';
import { hasControls } from '../../src/contract/clean-text';
import type { FailureType } from '../../src/contract/failure-table';
import { FRUITFUL_BYTES, HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import { ServiceFault, type TaskReading, type VideoBody, type VideoService } from '../../src/service';
import { newPartName, StorageFault, type VideoStorage } from '../../src/storage';
import { box, makeVideo } from '../media/make-video';
import { atLength } from '../support/nightly';
import { openVideoBytes } from '../support/open-video-bytes';
import { fc } from '../support/properties';
import { attemptUntilEnd, createActivityWorld, expectFailure, failureOf } from './activity-world';
import { disk, ioError } from './failing-disk';
import {
  createMemoryWorld,
  cutAfter,
  FILES,
  inspectedVideo,
  type MemoryWorldOptions,
  reading,
  recordedBy,
  sha256,
  TASK,
} from './memory-world';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('./failing-disk')>('./failing-disk')
    .disk.over(jest.requireActual('node:fs/promises')),
);

let video: Buffer;
let validator: string;
beforeAll(async () => {
  video = await inspectedVideo();
  validator = openVideoBytes(video).validator ?? '';
});
afterEach(() => disk.reset());

type From = { offset: number; validator: string } | undefined;
type Connection = (from: From) => VideoBody;
const whole: Connection = (from) => openVideoBytes(video, from && { from });

/** A world whose server answers each connection in its turn, the offsets at which they begin, and their links. */
function worldOf(connections: Connection[], options: MemoryWorldOptions = {}) {
  const offsets: (number | undefined)[] = [];
  const links: string[] = [];
  let polls = 0;
  const status = async () => reading({ state: 'succeeded', word: 'done', videoUrl: `${++polls}` });
  const open: VideoService['open'] = async (link, { from } = {}) => {
    links.push(link);
    offsets.push(from?.offset);
    return (connections[offsets.length - 1] ?? connections.at(-1) ?? whole)(from);
  };
  return { offsets, links, ...createMemoryWorld(video, { service: { status, open }, ...options }) };
}

test('a download stores the video of the service byte for byte, by a fresh link each time, and reports no secret', async () => {
  const world = await createActivityWorld({ videoBytes: 300_000 });
  const { submitVideo, downloadVideo } = world.activities;
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
  const first = await world.run(downloadVideo, { taskId }).result;
  const bytes = await world.emulator.video(taskId);
  expect(first).toEqual({
    video: expect.objectContaining({
      uri: pathToFileURL(join(world.folder, 'test.mp4')).href,
      bytes: 300_000,
      sha256: sha256(bytes),
      contentType: 'video/mp4',
      codec: 'avc',
    }),
    warnings: [],
  });
  expect(bytes.equals(await readFile(fileURLToPath(first.video.uri)))).toBe(true);
  // What an earlier attempt stored without saying so is stored once.
  expect(await world.run(downloadVideo, { taskId }, { attempt: 2 }).result).toEqual(first);
  expect(world.emulator.calls.slice(1).map(({ call, authorized }) => [call, authorized])).toEqual([
    ['status', true],
    ['download', true],
    ['status', true],
    ['download', true],
  ]);
  const { failure, details } = await failureOf(world.run(downloadVideo, { taskId, storage: '../out.mp4' }));
  expect([failure.type, details.taskId]).toEqual(['StorageFailed', taskId]);
  expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

test.each([
  ['a key', 'foxes/red.mp4', 'foxes/red.mp4'],
  ['a prefix', 'foxes/', 'foxes/job%2F1.mp4'],
  ['the default', undefined, 'job%2F1.mp4'],
  ['a template', '{date}/{taskId}/{workflowId}-1.{ext}', `2026-11-15/${TASK}/job%2F1-1.mp4`],
])('a video is stored under %s', async (_what, storage, key) => {
  const info = {
    workflowExecution: { workflowId: 'job/1', runId: 'r' },
    scheduledTimestampMs: Date.parse('2026-11-15T23:59:59Z'),
  };
  const { video: stored } = await worldOf([whole]).download({ storage }, info).result;
  expect(stored.uri).toBe(`memory:${key}`);
});

test('a video is named after its content', async () => {
  const film = Buffer.concat([video.subarray(0, 8), Buffer.from('qt  '), video.subarray(12)]);
  const world = worldOf([() => openVideoBytes(film)]);
  expect((await world.download().result).video.contentType).toBe('video/quicktime');
  expect([...world.stored.keys()]).toEqual(['test.mov', 'test.mov.json']);
});

test('the bytes that a download received are added up, and their speed is observed, if there are any', async () => {
  const { downloadVideo } = createMemoryWorld(video).activities;
  const recorded = await recordedBy(() => downloadVideo({ taskId: TASK }));
  const named = (name: string) => recorded.filter((one) => one.name === name);
  expect(named('videogen_download_bytes')).toMatchObject([{ value: video.length, labels: {} }]);
  const [speed] = named('videogen_download_speed_bytes_per_second');
  expect(speed?.value).toBeGreaterThan(0);
  expect(speed?.value).toBeLessThan(video.length * 1_000);
  const cut = worldOf([(from) => cutAfter(0, whole(from))]).activities;
  const nothing = await recordedBy(() => cut.downloadVideo({ taskId: TASK }));
  expect(nothing.filter(({ name }) => name.startsWith('videogen_download'))).toEqual([]);
});

describe('beside a video', () => {
  const cost = { charged: { amount: 2, currency: 'USD' } };

  test('a sidecar and the record of the job say what it is and cost, if that is known, without secrets', async () => {
    const world = createMemoryWorld(video);
    const image_url = 'https://images.example.com/fox.png?signature=s3cret';
    const request = { prompt: 'A red fox', image_url };
    const { record } = await world.submit({ request }).result;
    const { video: stored } = await world.download({ record, cost, expected: { seed: 7 } }).result;
    const sidecar = {
      namespace: 'test',
      workflowId: 'test',
      taskId: TASK,
      seed: 7,
      video: stored,
      warnings: [],
    };
    const recorded = { ...request, image_url: 'https://images.example.com/fox.png?…' };
    expect(world.json('test.mp4.json')).toEqual({ ...sidecar, request: recorded, cost });
    const entries = [...world.stored.keys()].filter((key) => key.startsWith('jobs/')).sort();
    const stores = { event: 'stored', taskId: TASK, key: 'test.mp4', cost };
    expect(world.json(entries.at(-1) ?? '')).toMatchObject(stores);
    await world.download({ expected: { seed: 7 } }).result;
    expect(world.json('test.mp4.json')).toEqual(sidecar);
  });

  test('another file is not overwritten by the sidecar, and the sidecar of the same task is', async () => {
    const world = createMemoryWorld(video);
    for (const other of ['my notes', '{"taskId":"another"}', '']) {
      world.stored.set('test.mp4.json', Buffer.from(other));
      const { warnings } = await world.download().result;
      expect(warnings).toEqual(['test.mp4.json exists already and was not overwritten']);
      expect(String(world.stored.get('test.mp4.json'))).toBe(other);
    }
    world.stored.set('test.mp4.json', Buffer.from(JSON.stringify({ taskId: TASK })));
    expect((await world.download().result).warnings).toEqual([]);
    expect(world.json('test.mp4.json')).toMatchObject({ taskId: TASK, workflowId: 'test' });
  });

  test('an error of the storage to write the sidecar is a warning in one short line', async () => {
    const write: VideoStorage['write'] = () =>
      Promise.reject(new Error(`no\u001b[2J room\n${'x'.repeat(10_000)}`));
    const { warnings } = await createMemoryWorld(video, { storage: { write } }).download().result;
    expect(warnings).toEqual([expect.stringMatching(/^test\.mp4\.json could not be written: no room x+…$/)]);
    expect(hasControls(warnings.join())).toBe(false);
    expect(warnings.join().length).toBeLessThan(1_000);
  });
});

describe('a download fails, with the task id, and leaves nothing behind,', () => {
  const message = { serviceMessage: { code: 'foxes', message: 'No.' } };

  test.each<[what: string, task: TaskReading['task'], type: FailureType, retryable: boolean]>([
    ['when there is no video', { state: 'succeeded', word: 'done' }, 'NoVideo', true],
    ['when its state is unknown', { state: 'unknown', word: 'brewing' }, 'NoVideo', true],
    ['when it was cancelled', { state: 'cancelled', word: 'user' }, 'GenerationCancelled', false],
    ['when it failed', { state: 'failed', word: 'failed' }, 'GenerationFailed', false],
  ])('%s', async (_what, task, type, retryable) => {
    const status = async () => reading(task, message);
    const open = () => Promise.reject(new Error('there is no link'));
    const world = createMemoryWorld(video, { service: { status, open } });
    const { failure, details } = await failureOf(world.download());
    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toMatchObject({ taskId: TASK, ...message.serviceMessage });
    expect(world.stored.size).toBe(0);
  });

  test.each([
    ['when the storage fails at the attempt before the last one', 7, new StorageFault('no room'), true],
    ['when the storage fails at the last attempt', 8, new StorageFault('no room'), false],
    [
      'when another file has its key, for good',
      1,
      new StorageFault('the key is taken', { isFinal: true }),
      false,
    ],
  ])('%s', async (_what, attempt, fault, retryable) => {
    const publishFile = () => Promise.reject(fault);
    const world = createMemoryWorld(video, { storage: { publishFile } });
    const { failure, details } = await failureOf(world.download({}, { attempt }));
    expect([failure.type, !failure.nonRetryable]).toEqual(['StorageFailed', retryable]);
    expect(details).toMatchObject({ taskId: TASK, attempt, message: fault.message });
    expect([world.parts(), world.stored.size]).toEqual([[], 0]);
  });
});

test('a storage with only the four methods that it must have gets a video whose connection was cut, when it is complete', async () => {
  const storage = { partsFolder: undefined };
  const world = worldOf([(from) => cutAfter(5_000, whole(from)), whole], { storage });
  expect((await world.download().result).video.uri).toBe('memory:test.mp4');
  expect([...world.stored.keys()]).toEqual(FILES);
  expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
});

test('a video that is stored is delivered without a warning, although the record of the job cannot be written', async () => {
  const create = () => Promise.reject(new StorageFault('the disk is full'));
  const world = createMemoryWorld(video, { storage: { create } });
  const { warnings } = await world.download({ record: 'a'.repeat(64) }).result;
  expect(warnings).toEqual([]);
  expect(world.linesOf('recordNotWritten').at(-1)).toMatchObject({ taskId: TASK });
});

test('a download resumes at a server that does not say the length of the rest', async () => {
  const unsized: Connection = (from) => ({ ...whole(from), bytes: undefined });
  const world = worldOf([(from) => cutAfter(5_000, whole(from)), unsized]);
  await world.download().result;
  expect(world.offsets).toEqual([undefined, 5_000]);
  expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
});

test('in a folder that others share, only this user may read an unfinished video', async () => {
  let mode = 0;
  const publishFile = async (path: string) => {
    mode = statSync(path).mode & 0o777;
    return { uri: 'memory:test.mp4' };
  };
  await worldOf([whole], { storage: { partsFolder: undefined, publishFile } }).download().result;
  expect(mode).toBe(0o600);
});

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
  const world = worldOf([() => cutAfter(100_000, openVideoBytes(large))]);
  const { failure } = await failureOf(world.download());
  expect(failure.type).toBe('ServiceUnreachable');
  expect(world.offsets).toEqual([undefined, 100_000, 100_000, 100_000]);
});

test('what does not begin like a video is not read to its end', async () => {
  let chunks = 0;
  const page = function* () {
    for (; chunks < 1_000; chunks++) yield Buffer.alloc(64 * 1024, '<p>');
  };
  const world = worldOf([() => ({ stream: Readable.from(page(), { objectMode: false }), bytes: undefined })]);
  const { failure } = await failureOf(world.download());
  expect(failure.type).toBe('VideoCorrupt');
  expect(failure.message).toContain('it begins like a web page');
  expect(chunks).toBeLessThan(20);
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

describe('a video that', () => {
  const CUT = 5_000;
  const cut: Connection = (from) => cutAfter(CUT, whole(from));
  const cutAtItsEnd: Connection = (from) => cutAfter(video.length, whole(from));
  const beginning: Connection = () => openVideoBytes(video.subarray(0, CUT));
  const another: Connection = () => openVideoBytes(replaced());
  const replaced = () => Buffer.concat([video.subarray(0, -1_000), Buffer.alloc(1_000, 7)]);
  const stalling: Connection = (from) => {
    const { offset = 0, ...body } = whole(from);
    const stream = new Readable({ read: () => undefined });
    stream.push(video.subarray(offset, CUT));
    return { ...body, offset, stream };
  };
  const endless: Connection = () => {
    const chunks = function* () {
      for (;;) yield video;
    };
    return { stream: Readable.from(chunks(), { objectMode: false }), bytes: undefined };
  };
  const failing =
    (fault: ServiceFault): Connection =>
    () => {
      throw fault;
    };
  const refusing = (status: number) =>
    failing(new ServiceFault('answered', { status, message: 'Request has expired' }));
  const notAllowed = failing(new ServiceFault('not-allowed', { message: 'add the host to the setting' }));
  /** The answer with another length, or none. */
  const announced =
    (connection: Connection, more?: number): Connection =>
    (from) => ({ ...connection(from), bytes: more === undefined ? undefined : video.length + more });

  /** Where in the video each connection starts. */
  type Offsets = (number | 'end' | undefined)[];
  test.each<
    [what: string, connections: Connection[], offsets: Offsets, attempts: number, stored?: () => Buffer]
  >([
    ['is cut once and has no length', [announced(cut), whole], [undefined, CUT], 1],
    ['is once announced as longer', [announced(cutAtItsEnd, 9), whole], [undefined, 'end', undefined], 1],
    ['is replaced after a cut', [cut, another], [undefined, CUT], 1, replaced],
    ['is refused with 503 after a cut', [cut, refusing(503), whole], [undefined, CUT, CUT], 2],
    ['is behind a link that expires in the middle', [cut, refusing(403), whole], [undefined, CUT, CUT], 1],
  ])('%s is stored whole in the end', async (_what, connections, offsets, attempts, stored = () => video) => {
    const world = worldOf(connections);
    const { end, failures } = await attemptUntilEnd((info) => world.download({}, info));
    if (end instanceof ApplicationFailure) throw end;
    expect(failures).toHaveLength(attempts - 1);
    expect(end.video).toMatchObject({ bytes: stored().length, sha256: sha256(stored()) });
    expect(world.stored.get('test.mp4')?.equals(stored())).toBe(true);
    expect([[...world.stored.keys()], world.parts()]).toEqual([FILES, []]);
    expect(world.offsets).toEqual(offsets.map((offset) => (offset === 'end' ? video.length : offset)));
    // Each connection has a link of its own.
    expect(world.links).toEqual(offsets.map((_, index) => `${index + 1}`));
  });

  const FOREVER = 'ServiceUnreachable';
  /** On a busy machine other videos are as slow as this. */
  const paceFor = (connection: Connection) =>
    connection === stalling ? { pace: { windowMs: 20, leastBytes: 1_000 } } : {};
  test.each<[what: string, connection: Connection, type: FailureType, connections: number, says: string]>([
    ['is announced as shorter', announced(whole, -9), 'VideoCorrupt', 5, 'bytes arrived'],
    ['ends too early and has no length', announced(beginning), 'VideoCorrupt', 5, ''],
    ['never ends', endless, 'VideoTooLarge', 1, 'it has more than 1000000 bytes'],
    ['is behind links that are refused', refusing(403), 'VideoUnavailable', 8 * 3, 'Request has expired'],
    ['comes from an address that is not allowed', notAllowed, 'VideoUnavailable', 1, 'add the host'],
    ['is always announced as longer', announced(cutAtItsEnd, 9), FOREVER, 10 * 3, 'socket closed'],
    ['does not arrive', stalling, FOREVER, 10 * 3, 'bytes arrived in'],
  ])('%s is not stored', async (_what, connection, type, connections, says) => {
    const world = worldOf([connection], { ...paceFor(connection), largestVideoBytes: 1_000_000 });
    const { end, failures } = await attemptUntilEnd((info) => world.download({}, info));
    if (!(end instanceof ApplicationFailure)) throw new Error(`it was stored as ${end.video.uri}`);
    expect([failures.at(-1), !end.nonRetryable]).toEqual([type, type === FOREVER]);
    expect(end.message).toContain(says);
    expect(end.details).toEqual([expect.objectContaining({ taskId: TASK })]);
    expect(world.links).toHaveLength(connections);
    expect(world.stored.size).toBe(0);
    // Of attempts that may be retried, the last one leaves its part.
    expect(world.parts().length).toBeLessThanOrEqual(type === FOREVER ? 1 : 0);
  });

  test('is cut anywhere is resumed there', async () => {
    const anywhere = fc.integer({ min: 1, max: video.length - 1 });
    const isResumed = fc.asyncProperty(anywhere, async (at) => {
      const world = worldOf([(from) => cutAfter(at, whole(from)), whole]);
      expect((await world.download().result).video.sha256).toBe(sha256(video));
      expect([world.offsets, world.parts()]).toEqual([[undefined, at], []]);
    });
    await fc.assert(isResumed, { numRuns: atLength(20, 500) });
  });

  test('is cut many times is stored if each connection makes progress', async () => {
    const cuts = 6;
    const long = Buffer.concat([video, box('free', Buffer.alloc((cuts + 1) * FRUITFUL_BYTES))]);
    const some: Connection = (from) => cutAfter(FRUITFUL_BYTES, openVideoBytes(long, from && { from }));
    const world = worldOf([
      ...Array<Connection>(cuts).fill(some),
      (from) => openVideoBytes(long, from && { from }),
    ]);
    expect((await world.download().result).video.sha256).toBe(sha256(long));
    const offsets = Array.from({ length: cuts }, (_, index) => (index + 1) * FRUITFUL_BYTES);
    expect(world.offsets).toEqual([undefined, ...offsets]);
  });
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

test('a disk that fails midway fails the download clearly, and nothing is left on it', async () => {
  const MIB = 1024 * 1024;
  // Enough for several writes.
  const large = Buffer.concat([video, box('free', 10 * MIB)]);
  let left = 8 * MIB;
  disk.onWrite = (written) => {
    left -= written.length;
    if (left < 0) throw ioError('ENOSPC');
  };
  const world = createMemoryWorld(large);
  const { details } = await expectFailure(world.download(), 'StorageFailed', 'retryable');
  expect(details.message).toContain('ENOSPC: the disk says so');
  expect([world.parts(), [...world.stored.keys()]]).toEqual([[], []]);
});

test('a slow disk gets its time for a video that came with the answer', async () => {
  const pace = { windowMs: 20, leastBytes: 1_000 };
  disk.onWrite = () => sleep(4 * pace.windowMs);
  const status = async () => reading({ state: 'succeeded', word: 'done', videoBytes: video });
  const world = createMemoryWorld(video, { pace, service: { status } });
  const { video: stored } = await world.download().result;
  expect([stored.bytes, world.linesOf('resuming')]).toEqual([video.length, []]);
});

test.each([
  [1_000, []],
  [999, ['cut: only 999 bytes arrived in 20 s']],
])(
  'a download that gets %d bytes in each window, of which the least is 1,000, is resumed: %j',
  async (bytes, reasons) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    try {
      const pace = { windowMs: 20 * 1_000, leastBytes: 1_000 };
      const slowly = async function* () {
        for (let at = 0; at < video.length; at += bytes) {
          const isWritten = new Promise<void>((resolve) => {
            disk.onWrite = () => resolve();
          });
          yield video.subarray(at, at + bytes);
          if (at + bytes > video.length) return;
          await isWritten;
          await new Promise((resolve) => setImmediate(resolve));
          await jest.advanceTimersByTimeAsync(pace.windowMs);
        }
      };
      const slow: Connection = () => ({
        ...whole(undefined),
        stream: Readable.from(slowly(), { objectMode: false }),
      });
      const world = worldOf([slow, whole], { pace });
      expect((await world.download().result).video.sha256).toBe(sha256(video));
      expect(world.linesOf('resuming')).toMatchObject(reasons.map((reason) => ({ reason })));
    } finally {
      jest.useRealTimers();
    }
  },
);

/** A server that sends so many bytes and then nothing. `hasStalled` resolves when the disk has them, and after so much time of the activity. */
function stalling(bytes: number, afterMs = 0) {
  const server = new EventEmitter();
  const isWritten = new Promise<void>((resolve) => {
    disk.onWrite = () => resolve();
  });
  const open: VideoService['open'] = async (_link, { signal } = {}) =>
    cutAfter(bytes, openVideoBytes(video), async () => {
      await isWritten;
      // The download counts what was written before the next macrotask.
      await new Promise((resolve) => setImmediate(resolve));
      if (afterMs > 0) await jest.advanceTimersByTimeAsync(afterMs);
      server.emit('stalled');
      if (signal) await once(signal, 'abort');
    });
  return { service: { open }, hasStalled: once(server, 'stalled') };
}

test.each([
  ['has the bytes that have arrived, until there is a part', 1_000, {}],
  [
    'has the part that the next attempt could resume',
    5_000,
    { part: expect.stringMatching(/[.]part$/), sha256: expect.any(String), validator: expect.any(String) },
  ],
])('the heartbeat of a download %s', async (_what, bytes, more) => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
  try {
    const { service, hasStalled } = stalling(bytes, HEARTBEAT_EVERY_MS);
    const attempt = createMemoryWorld(video, { service }).download();
    await hasStalled;
    attempt.cancel();
    await expect(attempt.result).rejects.toThrow('CANCELLED');
    expect(attempt.beats).toEqual([{ bytes, ...more }]);
  } finally {
    jest.useRealTimers();
  }
});

describe('a download that is stopped', () => {
  const expectLeft = ({ partsFolder, parts }: ReturnType<typeof createMemoryWorld>, note: unknown) => {
    const left = video.subarray(0, 5_000);
    expect(note).toMatchObject({ part: parts()[0], bytes: 5_000, sha256: sha256(left) });
    expect(readFileSync(join(partsFolder, parts()[0] ?? '')).equals(left)).toBe(true);
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
