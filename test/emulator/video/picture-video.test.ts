import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoRequest } from '../../../src/contract/request';
import { H264Stream } from '../../../src/testing/video/h264';
import { pictureVideo } from '../../../src/testing/video/make-video';
import { Mosaic } from '../../../src/testing/video/mosaic';
import { scene } from '../../../src/testing/video/scene';
import { inspect } from '../../media/inspect';
import { atLength } from '../../support/nightly';

const FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };
const MEGABYTE = 1_000_000;
const LARGEST = { resolution: '1080p', aspect_ratio: '21:9' } as const;

// Noise videos show each form, and get it from the same function.
test('a video has 720p, 16:9 and 5 seconds by default', async () => {
  expect(await inspect(await pictureVideo({ prompt: 'A fox' }))).toEqual({
    kind: 'video',
    facts: { container: 'mp4', codec: 'avc', width: 1280, height: 720, durationSeconds: 5 },
    end: 'checked',
  });
});

test('the bytes of a video are the same for the same request, with the tables first, so that it plays while it loads', async () => {
  const fox = await pictureVideo(FOX);
  expect(fox.indexOf('moov')).toBeLessThan(fox.indexOf('mdat'));
  // The dates in an MP4 file are in seconds.
  await sleep(1_100);
  expect(fox.equals(await pictureVideo({ ...FOX }))).toBe(true);
});

test.each<[limit: number, what: string, change: Partial<VideoRequest>]>([
  [1 * MEGABYTE, '480p for a second', {}],
  ...atLength<[number, string, Partial<VideoRequest>][]>(
    [[2 * MEGABYTE, '1080p in 21:9 for 2 seconds', { ...LARGEST, duration: 2 }]],
    // The largest of all.
    [[8 * MEGABYTE, '1080p in 21:9 for 10 seconds', { ...LARGEST, duration: 10 }]],
  ),
])('a video has fewer than %i bytes for %s', async (limit, _what, change) => {
  expect((await pictureVideo({ ...FOX, ...change })).length).toBeLessThan(limit);
});

test('no picture has bytes in it that would start another part of the stream', () => {
  const picture = new Mosaic(64, 48);
  const stream = new H264Stream(picture);
  for (let frame = 0; frame < 20; frame++) {
    picture.paint((column, row) => (column * row + frame) & 3);
    const unit = stream.next().data.subarray(4);
    for (const last of [0, 1, 2]) expect(unit.includes(Buffer.from([0, 0, last]))).toBe(false);
  }
});

describe('the picture', () => {
  function pictureOf(request: VideoRequest, frame = 0): Uint32Array {
    const picture = new Mosaic(854, 480);
    picture.paint(scene(request, picture, 50)(frame));
    return picture.colours;
  }
  const changes = (a: Uint32Array, b: Uint32Array) => a.filter((colour, at) => colour !== b[at]).length;

  it.each<Partial<VideoRequest>>([
    { seed: -7 },
    { seed: undefined },
    { prompt: 'A red fox in the snow ' },
    { image_url: 'https://example.com/fox.png' },
  ])('differs for a request with %j', (change) => {
    expect(pictureOf({ ...FOX, ...change })).not.toEqual(pictureOf(FOX));
  });

  it('changes in a small part from frame to frame, and almost everywhere with the seed', () => {
    const moved = changes(pictureOf(FOX, 10), pictureOf(FOX, 11));
    expect(moved).toBeGreaterThan(2);
    expect(moved).toBeLessThan(60);
    for (const seed of [0, 1, 11, -1])
      expect(changes(pictureOf({ ...FOX, seed }), pictureOf({ ...FOX, seed: seed + 1 }))).toBeGreaterThan(
        1500,
      );
  });
});
