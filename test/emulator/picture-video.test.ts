import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../src/contract';
import { paintLayers } from '../../src/emulator/layer';
import { pictureVideo } from '../../src/emulator/picture-video';
import { scene } from '../../src/emulator/scene';
import { Picture } from '../../src/media';
import { inspect } from '../media/inspect';

const FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };
const MEGABYTE = 1_000_000;

const lookedAt = async (request: VideoRequest) => inspect(await pictureVideo(request));

describe('a video has the form that was asked for', () => {
  const SIZES: Record<string, Record<string, [width: number, height: number]>> = {
    '480p': {
      '16:9': [854, 480],
      '9:16': [480, 854],
      '4:3': [640, 480],
      '3:4': [480, 640],
      '21:9': [1120, 480],
      '1:1': [480, 480],
    },
    '720p': {
      '16:9': [1280, 720],
      '9:16': [720, 1280],
      '4:3': [960, 720],
      '3:4': [720, 960],
      '21:9': [1680, 720],
      '1:1': [720, 720],
    },
    '1080p': {
      '16:9': [1920, 1080],
      '9:16': [1080, 1920],
      '4:3': [1440, 1080],
      '3:4': [1080, 1440],
      '21:9': [2520, 1080],
      '1:1': [1080, 1080],
    },
  };
  const forms = RESOLUTIONS.flatMap((resolution) =>
    ASPECT_RATIOS.map((aspect_ratio) => ({ resolution, aspect_ratio })),
  );

  it.each(forms)('$resolution in $aspect_ratio', async ({ resolution, aspect_ratio }) => {
    const [width, height] = SIZES[resolution]?.[aspect_ratio] ?? [];
    expect(await lookedAt({ ...FOX, resolution, aspect_ratio })).toEqual({
      kind: 'video',
      facts: { container: 'mp4', codec: 'avc', width, height, durationSeconds: 1 },
      end: 'checked',
    });
  });

  it('720p, 16:9 and 5 seconds when the request does not say', async () => {
    expect(await lookedAt({ prompt: 'A fox' })).toMatchObject({
      facts: { width: 1280, height: 720, durationSeconds: 5 },
    });
  });

  it.each([
    [1, 1],
    [3, 3],
    [10, 10],
    [0, 5],
    [-4, 5],
  ])('the duration %i makes %i seconds', async (duration, durationSeconds) => {
    expect(await lookedAt({ ...FOX, duration })).toMatchObject({ facts: { durationSeconds } });
  });
});

describe('the bytes of a video', () => {
  it.each([FOX, { prompt: 'No seed', resolution: '480p', duration: 1 } as const])(
    'are the same for the same request: %j',
    async (request) => {
      expect((await pictureVideo(request)).equals(await pictureVideo({ ...request }))).toBe(true);
    },
  );

  it.each<Partial<VideoRequest>>([
    { seed: 8 },
    { seed: -7 },
    { seed: undefined },
    { prompt: 'A blue fox in the snow' },
    { prompt: 'A red fox in the snow ' },
    { image_url: 'https://example.com/fox.png' },
    { duration: 2 },
    { aspect_ratio: '9:16' },
  ])('are others for a request with %j', async (change) => {
    expect((await pictureVideo(FOX)).equals(await pictureVideo({ ...FOX, ...change }))).toBe(false);
  });

  it.each<[most: number, what: string, change: Partial<VideoRequest>]>([
    [1 * MEGABYTE, '480p for a second', {}],
    [3 * MEGABYTE, '720p for 5 seconds', { resolution: '720p', duration: 5 }],
    [7 * MEGABYTE, '1080p for 10 seconds', { resolution: '1080p', duration: 10 }],
    [
      8 * MEGABYTE,
      '1080p in 21:9 for 10 seconds',
      { resolution: '1080p', duration: 10, aspect_ratio: '21:9' },
    ],
  ])('are at most %i for %s', async (most, _what, change) => {
    expect((await pictureVideo({ ...FOX, ...change })).length).toBeLessThan(most);
  });
});

describe.each([
  ['of emoji', '🦊👩‍👩‍👧‍👦🏳️‍🌈'.repeat(20)],
  ['of control characters', '\u0000\u0007\u001b[31m\u202e\u2028'],
  ['of 10,000 characters without a space', 'fox'.repeat(3_334)],
  ['of 10,000 accents on one letter', `e${'\u0301'.repeat(10_000)}`],
  ['of words with nothing in them', ' \t\u200b \u00ad '],
  ['of half a character', '\ud83e'],
  ['in other scripts', '雪の中の赤い狐 лиса в снегу ثعلب'],
])('a prompt %s', (_what, prompt) => {
  it('makes a video as any other', async () => {
    expect(await lookedAt({ ...FOX, prompt })).toMatchObject({
      facts: { width: 854, height: 480, durationSeconds: 1 },
    });
  });
});

describe('what one sees', () => {
  const shot = { width: 854, height: 480, frames: 50, framesPerSecond: 10 };

  function pictures(request: VideoRequest, frames: number): Buffer[] {
    const picture = new Picture(shot.width, shot.height);
    const layers = scene(request, shot);
    return Array.from({ length: frames }, (_, frame) => {
      paintLayers(picture, layers, frame);
      return Buffer.from(picture.data);
    });
  }
  const changed = (a: Buffer, b: Buffer, macroblocks: Iterable<number>) =>
    [...macroblocks].filter(
      (m) => !a.subarray(m * 384, m * 384 + 384).equals(b.subarray(m * 384, m * 384 + 384)),
    );
  /** Where the clock has its last digit in this size. */
  const lastDigit = [1, 2, 3, 4].flatMap((row) => [16, 17].map((column) => row * 54 + column));

  it('is another picture in every frame, and the clock shows another tenth of a second', () => {
    const seen = pictures(FOX, 50);
    for (const [frame, picture] of seen.entries()) {
      const next = seen[frame + 1];
      if (next) expect(changed(picture, next, lastDigit)).not.toEqual([]);
    }
  });

  it('changes in a small part of the picture only', () => {
    const [first, second] = pictures(FOX, 2);
    const parts = changed(first ?? Buffer.alloc(0), second ?? Buffer.alloc(0), Array(1620).keys());
    expect(parts.length).toBeGreaterThan(20);
    expect(parts.length).toBeLessThan(300);
  });

  it('is what a painter would see who starts at that frame', () => {
    const layers = scene(FOX, shot);
    const afresh = new Picture(shot.width, shot.height);
    const all = layers.map((layer) => layer(30));
    for (let macroblock = 0; macroblock < afresh.macroblocks; macroblock++) {
      afresh.paint(macroblock, (x, y) => all.reduce((under, { colourAt }) => colourAt(x, y, under), 0));
    }
    const painted = pictures(FOX, 31).at(-1) ?? Buffer.alloc(0);
    expect(changed(afresh.data, painted, visible(afresh))).toEqual([]);
  });

  it('has other colours for another seed, nearly everywhere', () => {
    for (const seed of [0, 1, 2, 3, 11, 12, -1]) {
      const [one] = pictures({ ...FOX, seed }, 1);
      const [other] = pictures({ ...FOX, seed: seed + 1 }, 1);
      const same = changed(one ?? Buffer.alloc(0), other ?? Buffer.alloc(0), Array(1620).keys());
      expect(same.length).toBeGreaterThan(1600);
    }
  });

  /** Macroblocks that are shown in whole: beyond the edge layers need not agree. */
  const visible = ({ columns, rows }: Picture) =>
    Array.from({ length: columns * rows }, (_, macroblock) => macroblock).filter(
      (macroblock) => macroblock % columns < columns - 1 && macroblock < columns * (rows - 1),
    );
});
