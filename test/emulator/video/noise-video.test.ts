import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../../src/contract/request';
import { describeMismatches } from '../../../src/media/compare-with-request';
import { noiseVideo } from '../../../src/testing/video/make-video';
import { inspect } from '../../media/inspect';

const FOX: VideoRequest = { prompt: 'A red fox' };

/** In the order of the ratios. */
const SIZES = {
  '480p': '854x480 480x854 640x480 480x640 1120x480 480x480',
  '720p': '1280x720 720x1280 960x720 720x960 1680x720 720x720',
  '1080p': '1920x1080 1080x1920 1440x1080 1080x1440 2520x1080 1080x1080',
};
const forms = RESOLUTIONS.flatMap((resolution) =>
  ASPECT_RATIOS.map((aspect_ratio, at) => ({
    resolution,
    aspect_ratio,
    size: SIZES[resolution].split(' ')[at],
  })),
);

test.each(forms)(
  'a video has the requested form: $resolution in $aspect_ratio',
  async ({ size, ...form }) => {
    const request = { ...FOX, ...form, duration: 3 };
    const inspection = await inspect(await noiseVideo(request, 100_000));
    if (inspection.kind === 'no-video') throw new Error(inspection.reason);
    const { width, height, ...facts } = inspection.facts;
    expect([`${width}x${height}`, facts]).toEqual([
      size,
      { container: 'mp4', codec: 'avc', durationSeconds: 3 },
    ]);
    expect(describeMismatches(request, inspection.facts)).toEqual([]);
  },
);

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
