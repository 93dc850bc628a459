import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VideoBody, VideoService } from '../../../src/service';
import { newPartName } from '../../../src/storage/disk-files';
import { makeVideo } from '../../media/make-video';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import { sha256 } from './download-world';
import { createMemoryWorld, cutAfter, inspectedVideo, type MemoryWorldOptions } from './memory-world';

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

/** The next attempt, when one left a part with these bytes and this note. */
function resume(part: Buffer, note: object = {}) {
  const world = worldOf([whole]);
  const name = newPartName('test task-1');
  writeFileSync(join(world.partsFolder, name), part);
  const ofPart = { part: name, bytes: part.length, sha256: sha256(part), validator };
  const heartbeatDetails = { ...ofPart, ...note };
  return { ...world, name, again: world.download({}, { attempt: 2, heartbeatDetails }) };
}

describe('the next attempt on the same disk', () => {
  it('takes over as many bytes as are noted, and removes the part', async () => {
    const noted = video.subarray(0, 5_000);
    const { again, offsets, parts, stored } = resume(video.subarray(0, 5_500), {
      bytes: 5_000,
      sha256: sha256(noted),
    });
    await again.result;
    expect([offsets, parts()]).toEqual([[5_000], []]);
    expect(stored.get('test.mp4')?.equals(video)).toBe(true);
  });

  it.each<[what: string, part: () => Buffer, note: () => object]>([
    ['is shorter than noted', () => video.subarray(0, 4_999), () => ({ bytes: 5_000 })],
    [
      'has other bytes',
      () => Buffer.concat([video.subarray(0, 4_990), Buffer.alloc(10)]),
      () => ({ sha256: sha256(video.subarray(0, 5_000)) }),
    ],
    ['is another file', () => video, () => ({ part: newPartName('somebody') })],
    ['has the name of no part', () => video, () => ({ part: '../../etc/passwd' })],
    ['has no validator', () => video, () => ({ validator: undefined })],
    ['has no length', () => video, () => ({ bytes: '5000' })],
    ['is empty', () => Buffer.alloc(0), () => ({})],
  ])('starts over when the part %s', async (_what, part, note) => {
    const { again, offsets, parts, stored } = resume(part(), note());
    await again.result;
    expect([offsets, parts()]).toEqual([[undefined], []]);
    expect(stored.get('test.mp4')?.equals(video)).toBe(true);
  });

  it('starts over when the file has changed at the server', async () => {
    const { again, stored } = resume(video.subarray(0, 5_000), { validator: '"another"' });
    await again.result;
    expect(stored.get('test.mp4')?.equals(video)).toBe(true);
  });

  it('leaves the parts of other jobs', async () => {
    const world = worldOf([whole]);
    const other = newPartName('another task-1');
    writeFileSync(join(world.partsFolder, other), 'x');
    await world.download({}, { attempt: 2 }).result;
    expect(world.parts()).toEqual([other]);
  });

  it('is not disturbed by one that was taken for dead and still writes', async () => {
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

describe('a download that is connected again', () => {
  it.each<[what: string, connections: () => Connection[], offsets: (number | undefined)[]]>([
    ['goes on where it was', () => [(from) => cutAfter(5_000, whole(from)), whole], [undefined, 5_000]],
    [
      'starts over when the server does',
      () => [(from) => cutAfter(5_000, whole(from)), () => whole(undefined)],
      [undefined, 5_000],
    ],
    [
      'starts over when a new video is sent from its start',
      () => [(from) => ({ ...cutAfter(5_000, whole(from)), bytes: 6_000 }), () => whole(undefined)],
      [undefined, 5_000],
    ],
    [
      'starts over when the rest is that of a longer video',
      () => [
        (from) => cutAfter(5_000, whole(from)),
        (from) => ({ ...whole(from), bytes: video.length + 1 }),
        whole,
      ],
      [undefined, 5_000, undefined],
    ],
    [
      'starts over when the server sent no validator',
      () => [(from) => ({ ...cutAfter(5_000, whole(from)), validator: undefined }), whole],
      [undefined, undefined],
    ],
    [
      'goes on when the server states the length no more',
      () => [(from) => cutAfter(5_000, whole(from)), (from) => ({ ...whole(from), bytes: undefined })],
      [undefined, 5_000],
    ],
    [
      'goes on when the server states the length only now',
      () => [(from) => ({ ...cutAfter(5_000, whole(from)), bytes: undefined }), whole],
      [undefined, 5_000],
    ],
  ])('%s', async (_what, connections, offsets) => {
    const world = worldOf(connections());
    const { video: stored } = await world.download().result;
    expect([world.offsets, stored.sha256, world.parts()]).toEqual([offsets, sha256(video), []]);
  });
});

describe('a download that fails and will be tried again', () => {
  it.each<[what: string, bytes: number, change: Partial<VideoBody>]>([
    ['the server cannot resume', 5_000, { validator: undefined }],
    ['hardly anything has come', 4_095, {}],
  ])('leaves nothing when %s', async (_what, bytes, change) => {
    const world = worldOf([(from) => ({ ...cutAfter(from ? 0 : bytes, whole(from)), ...change })]);
    const attempt = world.download();
    await failureOf(attempt);
    expect([world.parts(), attempt.beats.filter((beat) => Object(beat).part)]).toEqual([[], []]);
  });

  it('leaves its part, with a note of all its bytes', async () => {
    const world = worldOf([(from) => cutAfter(from ? 0 : 5_000, whole(from))]);
    const attempt = world.download();
    await failureOf(attempt);
    const [part = ''] = world.parts();
    const left = video.subarray(0, 5_000);
    expect(attempt.beats.at(-1)).toEqual({ part, bytes: 5_000, sha256: sha256(left), validator });
    expect(readFileSync(join(world.partsFolder, part)).equals(left)).toBe(true);
  });
});

it.each([
  ['by the length that the server states', {}, 1],
  ['by the bytes that come', { bytes: undefined }, 1],
  ['and one that is as large as allowed is not', {}, 0],
])('a video that is too large is refused %s', async (_how, change, tooLarge) => {
  const world = worldOf([(from) => ({ ...whole(from), ...change })], {
    largestVideoBytes: video.length - tooLarge,
  });
  const attempt = world.download();
  if (tooLarge === 0) expect((await attempt.result).video.bytes).toBe(video.length);
  else expect((await failureOf(attempt)).failure.type).toBe('VideoTooLarge');
  expect(world.parts()).toEqual([]);
});

it('a video is doubted if neither the server nor the file says where it ends', async () => {
  const warningsOf = async (bytes: Buffer, isStated: boolean) => {
    const length = isStated ? {} : { bytes: undefined };
    const world = worldOf([(from) => ({ ...openVideoBytes(bytes, from && { from }), ...length })]);
    return (await world.download().result).warnings;
  };
  const fragments = await makeVideo('MP4 of fragments');
  const endless = fragments.subarray(0, fragments.indexOf('mfra') - 4);
  expect(await warningsOf(endless, false)).toEqual([expect.stringContaining('the server sent no length')]);
  expect(await warningsOf(endless, true)).toEqual([]);
  expect(await warningsOf(video, false)).toEqual([]);
});
