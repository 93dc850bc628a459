import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoRequest } from '../../../src/contract/request';
import { pictureVideo } from '../../../src/testing/video/make-video';
import { Picture } from '../../../src/testing/video/picture';
import { scene } from '../../../src/testing/video/scene';
import { inspect } from '../../media/inspect';
import { atLength } from '../../support/nightly';

const FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };
const EVERYWHERE = { left: 0, top: 0, right: Infinity, bottom: Infinity };
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
  const shot = { width: 854, height: 480, frames: 50, framesPerSecond: 10 };

  function pictures(request: VideoRequest, frames: number): Buffer[] {
    const picture = new Picture(shot.width, shot.height);
    const frameOf = scene(request, shot);
    return Array.from({ length: frames }, (_, number) => {
      const before = number === 0 ? [EVERYWHERE] : frameOf(number - 1).moving;
      const { moving, colourAt } = frameOf(number);
      picture.paint([...before, ...moving], colourAt);
      return Buffer.from(picture.data);
    });
  }
  const changed = (a: Buffer, b: Buffer, macroblocks: Iterable<number>) =>
    [...macroblocks].filter(
      (m) => !a.subarray(m * 384, m * 384 + 384).equals(b.subarray(m * 384, m * 384 + 384)),
    );

  it.each<Partial<VideoRequest>>([
    { seed: 8 },
    { seed: -7 },
    { seed: undefined },
    { prompt: 'A blue fox in the snow' },
    { prompt: 'A red fox in the snow ' },
    { image_url: 'https://example.com/fox.png' },
  ])('differs for a request with %j', (change) => {
    const [fox] = pictures(FOX, 1);
    expect(fox?.equals(pictures({ ...FOX, ...change }, 1)[0] ?? Buffer.alloc(0))).toBe(false);
  });

  it('is the same for the same request without a seed', () => {
    const [fox] = pictures({ prompt: 'No seed' }, 1);
    expect(fox?.equals(pictures({ prompt: 'No seed' }, 1)[0] ?? Buffer.alloc(0))).toBe(true);
  });

  it.each([
    ['of emoji', '🦊👩‍👩‍👧‍👦🏳️‍🌈'.repeat(20)],
    ['of control characters', '\u0000\u0007\u001b[31m\u202e\u2028'],
    ['of 10,000 characters without a space', 'fox'.repeat(3_334)],
    ['of 10,000 accents on one letter', `e${'\u0301'.repeat(10_000)}`],
    ['of invisible characters', ' \t\u200b \u00ad '],
    ['of half a character', '\ud83e'],
    ['in other scripts', '雪の中の赤い狐 лиса в снегу ثعلب'],
  ])('is painted for a prompt %s', (_what, prompt) => {
    const [picture] = pictures({ ...FOX, prompt }, 1);
    expect(new Set(picture).size).toBeGreaterThan(10);
  });

  it('changes only in a small part from frame to frame', () => {
    const [first, second] = pictures(FOX, 2);
    const blocks = changed(first ?? Buffer.alloc(0), second ?? Buffer.alloc(0), Array(1620).keys());
    expect(blocks.length).toBeGreaterThan(20);
    expect(blocks.length).toBeLessThan(300);
  });

  it('is the same if painting starts at that frame', () => {
    const fresh = new Picture(shot.width, shot.height);
    fresh.paint([EVERYWHERE], scene(FOX, shot)(30).colourAt);
    const painted = pictures(FOX, 31).at(-1) ?? Buffer.alloc(0);
    expect(changed(fresh.data, painted, Array(1620).keys())).toEqual([]);
  });

  it('has other colours for another seed, almost everywhere', () => {
    for (const seed of [0, 1, 2, 3, 11, 12, -1]) {
      const [one] = pictures({ ...FOX, seed }, 1);
      const [other] = pictures({ ...FOX, seed: seed + 1 }, 1);
      const different = changed(one ?? Buffer.alloc(0), other ?? Buffer.alloc(0), Array(1620).keys());
      expect(different.length).toBeGreaterThan(1600);
    }
  });
});
