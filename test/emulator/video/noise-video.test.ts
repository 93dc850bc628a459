import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../../src/contract/request';
import { describeMismatches } from '../../../src/media/compare-with-request';
import { noiseVideo } from '../../../src/testing/video/make-video';
import { inspect } from '../../media/inspect';

const FOX: VideoRequest = { prompt: 'A red fox' };

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

test.each(forms)('a video has the requested form: $resolution in $aspect_ratio', async (form) => {
  const request = { ...FOX, ...form, duration: 3 };
  const inspection = await inspect(await noiseVideo(request, 100_000));
  if (inspection.kind === 'no-video') throw new Error(inspection.reason);
  const [width, height] = SIZES[form.resolution]?.[form.aspect_ratio] ?? [];
  expect(inspection.facts).toEqual({ container: 'mp4', codec: 'avc', width, height, durationSeconds: 3 });
  expect(describeMismatches(request, inspection.facts)).toEqual([]);
});

test.each([
  [1, 1],
  [10, 10],
  [0, 5],
  [-4, 5],
])('the duration %i makes %i seconds', async (duration, durationSeconds) => {
  const video = await noiseVideo({ ...FOX, resolution: '480p', duration }, 0);
  expect(await inspect(video)).toMatchObject({ facts: { durationSeconds } });
});

test('a noise video has the set size, or a few thousand bytes if that is more', async () => {
  const smallest = (await noiseVideo(FOX, 0)).length;
  expect(smallest).toBeGreaterThan(100);
  expect(smallest).toBeLessThan(10_000);
  for (const bytes of [smallest, smallest + 1, smallest + 9, 10_000, 5_000_003]) {
    const video = await noiseVideo(FOX, bytes);
    expect(video).toHaveLength(bytes);
    expect(await inspect(video)).toMatchObject({ kind: 'video', facts: { width: 1280, height: 720 } });
  }
});

test('the same request makes the same noise video, and another makes another', async () => {
  const video = await noiseVideo(FOX, 10_000);
  expect((await noiseVideo({ ...FOX }, 10_000)).equals(video)).toBe(true);
  expect((await noiseVideo({ prompt: 'A blue fox' }, 10_000)).equals(video)).toBe(false);
  expect((await noiseVideo({ ...FOX, seed: 1 }, 10_000)).equals(video)).toBe(false);
});
