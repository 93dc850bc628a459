import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../../src/contract';
import { paintLayers } from '../../../src/emulator/video/layer';
import { pictureVideo } from '../../../src/emulator/video/make-video';
import { scene } from '../../../src/emulator/video/scene';
import { Picture } from '../../../src/media';
import { inspect } from '../../media/inspect';

const FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };
const MEGABYTE = 1_000_000;

const inspectVideoOf = async (request: VideoRequest) => inspect(await pictureVideo(request));

describe('a video has the requested form', () => {
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
    expect(await inspectVideoOf({ ...FOX, resolution, aspect_ratio })).toEqual({
      kind: 'video',
      facts: { container: 'mp4', codec: 'avc', width, height, durationSeconds: 1 },
      end: 'checked',
    });
  });

  it('720p, 16:9 and 5 seconds by default', async () => {
    expect(await inspectVideoOf({ prompt: 'A fox' })).toMatchObject({
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
    expect(await inspectVideoOf({ ...FOX, duration })).toMatchObject({ facts: { durationSeconds } });
  });
});

describe('the bytes of a video', () => {
  let fox: Buffer;
  beforeAll(async () => {
    fox = await pictureVideo(FOX);
  });

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
  ])('differ for a request with %j', async (change) => {
    expect(fox.equals(await pictureVideo({ ...FOX, ...change }))).toBe(false);
  });

  it.each<[limit: number, what: string, change: Partial<VideoRequest>]>([
    [1 * MEGABYTE, '480p for a second', {}],
    [3 * MEGABYTE, '720p for 5 seconds', { resolution: '720p', duration: 5 }],
    // The largest of all.
    [
      8 * MEGABYTE,
      '1080p in 21:9 for 10 seconds',
      { resolution: '1080p', duration: 10, aspect_ratio: '21:9' },
    ],
  ])('are fewer than %i for %s', async (limit, _what, change) => {
    expect((await pictureVideo({ ...FOX, ...change })).length).toBeLessThan(limit);
  });
});

describe.each([
  ['of emoji', '🦊👩‍👩‍👧‍👦🏳️‍🌈'.repeat(20)],
  ['of control characters', '\u0000\u0007\u001b[31m\u202e\u2028'],
  ['of 10,000 characters without a space', 'fox'.repeat(3_334)],
  ['of 10,000 accents on one letter', `e${'\u0301'.repeat(10_000)}`],
  ['of invisible characters', ' \t\u200b \u00ad '],
  ['of half a character', '\ud83e'],
  ['in other scripts', '雪の中の赤い狐 лиса в снегу ثعلب'],
])('a prompt %s', (_what, prompt) => {
  it('makes a normal video', async () => {
    expect(await inspectVideoOf({ ...FOX, prompt })).toMatchObject({
      facts: { width: 854, height: 480, durationSeconds: 1 },
    });
  });
});

describe('the picture', () => {
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
  /** The macroblocks of the clock's last digit at this size. */
  const lastDigit = [1, 2, 3, 4].flatMap((row) => [16, 17].map((column) => row * 54 + column));

  it('changes in every frame, at least in the clock’s tenths of a second', () => {
    const frames = pictures(FOX, 50);
    for (const [frame, picture] of frames.entries()) {
      const next = frames[frame + 1];
      if (next) expect(changed(picture, next, lastDigit)).not.toEqual([]);
    }
  });

  it('changes only in a small part from frame to frame', () => {
    const [first, second] = pictures(FOX, 2);
    const blocks = changed(first ?? Buffer.alloc(0), second ?? Buffer.alloc(0), Array(1620).keys());
    expect(blocks.length).toBeGreaterThan(20);
    expect(blocks.length).toBeLessThan(300);
  });

  it('is the same if painting starts at that frame', () => {
    const layers = scene(FOX, shot);
    const fresh = new Picture(shot.width, shot.height);
    const shapes = layers.map((layer) => layer(30));
    for (let macroblock = 0; macroblock < fresh.macroblocks; macroblock++) {
      fresh.paint(macroblock, (x, y) => shapes.reduce((below, { colourAt }) => colourAt(x, y, below), 0));
    }
    const painted = pictures(FOX, 31).at(-1) ?? Buffer.alloc(0);
    expect(changed(fresh.data, painted, visible(fresh))).toEqual([]);
  });

  it('has other colours for another seed, almost everywhere', () => {
    for (const seed of [0, 1, 2, 3, 11, 12, -1]) {
      const [one] = pictures({ ...FOX, seed }, 1);
      const [other] = pictures({ ...FOX, seed: seed + 1 }, 1);
      const different = changed(one ?? Buffer.alloc(0), other ?? Buffer.alloc(0), Array(1620).keys());
      expect(different.length).toBeGreaterThan(1600);
    }
  });

  /** Fully visible macroblocks: layers may differ beyond the edge of the picture. */
  const visible = ({ columns, rows }: Picture) =>
    Array.from({ length: columns * rows }, (_, macroblock) => macroblock).filter(
      (macroblock) => macroblock % columns < columns - 1 && macroblock < columns * (rows - 1),
    );
});
