import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../../src/contract';
import { describeMismatches } from '../../../src/contract/video-facts';
import { noiseVideo } from '../../../src/emulator';
import { inspect } from '../../media/inspect';

const FOX: VideoRequest = { prompt: 'A red fox' };

const forms = RESOLUTIONS.flatMap((resolution) =>
  ASPECT_RATIOS.map((aspect_ratio) => ({ resolution, aspect_ratio })),
);

test.each(forms)('a noise video has the requested form: $resolution in $aspect_ratio', async (form) => {
  const request = { ...FOX, ...form, duration: 3 };
  const inspection = await inspect(await noiseVideo(request, 100_000));
  if (inspection.kind === 'no-video') throw new Error(inspection.reason);
  expect(inspection.facts).toMatchObject({ container: 'mp4', codec: 'avc', durationSeconds: 3 });
  expect(inspection.facts.width).toBeGreaterThan(0);
  expect(describeMismatches(request, inspection.facts)).toEqual([]);
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
