import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoRequest } from '../../../src/contract/request';
import { pictureVideo } from '../../../src/testing/video/make-video';
import { Mosaic } from '../../../src/testing/video/mosaic';
import { scene } from '../../../src/testing/video/scene';
import { inspect } from '../../media/inspect';
import { atLength } from '../../support/nightly';

const FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };
const MEGABYTE = 1_000_000;

const LARGEST = { resolution: '1080p', aspect_ratio: '21:9' } as const;

// Noise videos show each form, and get it from the same function.
describe('a video has the requested form', () => {
  it.each<[what: string, request: VideoRequest, facts: object]>([
    [
      '480p in 9:16 for 2 seconds',
      { ...FOX, aspect_ratio: '9:16', duration: 2 },
      { width: 480, height: 854, durationSeconds: 2 },
    ],
    [
      '720p, 16:9 and 5 seconds by default',
      { prompt: 'A fox' },
      { width: 1280, height: 720, durationSeconds: 5 },
    ],
  ])('%s', async (_what, request, facts) => {
    expect(await inspect(await pictureVideo(request))).toEqual({
      kind: 'video',
      facts: { container: 'mp4', codec: 'avc', ...facts },
      end: 'checked',
    });
  });
});

describe('the bytes of a video', () => {
  let fox: Buffer;
  beforeAll(async () => {
    fox = await pictureVideo(FOX);
  });

  it('are the same for the same request, whenever it is made', async () => {
    // The dates in an MP4 file are in seconds.
    await sleep(1_100);
    expect(fox.equals(await pictureVideo({ ...FOX }))).toBe(true);
  });

  it('have the tables first, so that the video plays while it loads', () => {
    expect(fox.indexOf('moov')).toBeLessThan(fox.indexOf('mdat'));
  });

  it.each<[limit: number, what: string, change: Partial<VideoRequest>]>([
    [1 * MEGABYTE, '480p for a second', {}],
    ...atLength<[number, string, Partial<VideoRequest>][]>(
      [[2 * MEGABYTE, '1080p in 21:9 for 2 seconds', { ...LARGEST, duration: 2 }]],
      [
        [3 * MEGABYTE, '720p for 5 seconds', { resolution: '720p', duration: 5 }],
        // The largest of all.
        [8 * MEGABYTE, '1080p in 21:9 for 10 seconds', { ...LARGEST, duration: 10 }],
      ],
    ),
  ])('are fewer than %i for %s', async (limit, _what, change) => {
    expect((await pictureVideo({ ...FOX, ...change })).length).toBeLessThan(limit);
  });
});

describe('the picture', () => {
  const FRAMES = 50;

  function pictureOf(request: VideoRequest, frame = 0): Uint32Array {
    const picture = new Mosaic(854, 480);
    picture.paint(scene(request, picture, FRAMES)(frame));
    return picture.colours;
  }
  const changes = (a: Uint32Array, b: Uint32Array) => a.filter((colour, at) => colour !== b[at]).length;

  it.each<Partial<VideoRequest>>([
    { seed: 8 },
    { seed: -7 },
    { seed: undefined },
    { prompt: 'A blue fox in the snow' },
    { prompt: 'A red fox in the snow ' },
    { image_url: 'https://example.com/fox.png' },
  ])('differs for a request with %j', (change) => {
    expect(pictureOf({ ...FOX, ...change })).not.toEqual(pictureOf(FOX));
  });

  it('is the same for the same request without a seed', () => {
    expect(pictureOf({ prompt: 'No seed' })).toEqual(pictureOf({ prompt: 'No seed' }));
  });

  it('changes only in a small part from frame to frame', () => {
    const changed = changes(pictureOf(FOX, 10), pictureOf(FOX, 11));
    expect(changed).toBeGreaterThan(2);
    expect(changed).toBeLessThan(60);
  });

  it('has other colours for another seed, almost everywhere', () => {
    for (const seed of [0, 1, 2, 3, 11, 12, -1]) {
      expect(changes(pictureOf({ ...FOX, seed }), pictureOf({ ...FOX, seed: seed + 1 }))).toBeGreaterThan(
        1500,
      );
    }
  });
});
