import { setTimeout as sleep } from 'node:timers/promises';
import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../../src/contract/request';
import { describeMismatches } from '../../src/media/compare-with-request';
import { H264Stream } from '../../src/testing/video/h264';
import { noiseVideo, pictureVideo } from '../../src/testing/video/make-video';
import { Mosaic } from '../../src/testing/video/mosaic';
import { scene } from '../../src/testing/video/scene';
import { inspect } from '../media/inspect';

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

const SNOW_FOX: VideoRequest = { prompt: 'A red fox in the snow', resolution: '480p', duration: 1, seed: 7 };

test('the bytes of a video are the same for the same request, with the tables first, so that it plays while it loads', async () => {
  const fox = await pictureVideo(SNOW_FOX);
  expect(fox.indexOf('moov')).toBeLessThan(fox.indexOf('mdat'));
  // The dates in an MP4 file are in seconds.
  await sleep(1_100);
  expect(fox.equals(await pictureVideo({ ...SNOW_FOX }))).toBe(true);
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

  it.each<Partial<VideoRequest>>([
    { seed: -7 },
    { seed: undefined },
    { prompt: 'A red fox in the snow ' },
    { image_url: 'https://example.com/fox.png' },
  ])('differs for a request with %j', (change) => {
    expect(pictureOf({ ...SNOW_FOX, ...change })).not.toEqual(pictureOf(SNOW_FOX));
  });
});
