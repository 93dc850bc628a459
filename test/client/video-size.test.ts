import { SIZES, shapeOf, sizeOf } from '../../src/client/video-size';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../src/contract/request';

describe('a size', () => {
  it('is that of one resolution and ratio, and back', () => {
    for (const resolution of RESOLUTIONS) {
      for (const aspect_ratio of ASPECT_RATIOS) {
        const size = sizeOf({ prompt: 'A fox', resolution, aspect_ratio }) ?? '';
        expect(shapeOf(size)).toEqual({ resolution, aspect_ratio });
      }
    }
    expect(SIZES).toHaveLength(RESOLUTIONS.length * ASPECT_RATIOS.length);
  });

  it.each([
    ['1280x720', '720p', '16:9'],
    ['720x1280', '720p', '9:16'],
    ['1920x1080', '1080p', '16:9'],
    ['854x480', '480p', '16:9'],
    ['1080x1080', '1080p', '1:1'],
  ])('%s is %s and %s', (size, resolution, aspect_ratio) => {
    expect(shapeOf(size)).toEqual({ resolution, aspect_ratio });
  });

  it('has even sides, which codecs need', () => {
    expect(SIZES.flatMap((size) => size.split('x').map(Number)).filter((side) => side % 2 === 1)).toEqual([]);
  });

  it.each([
    ['480p', '21:9', '1120x480'],
    ['480p', '3:4', '480x640'],
    ['720p', '4:3', '960x720'],
    ['1080p', '9:16', '1080x1920'],
    ['720p', '1:1', '720x720'],
  ] as const)('of %s and %s is %s', (resolution, aspect_ratio, size) => {
    expect(sizeOf({ prompt: 'A fox', resolution, aspect_ratio })).toBe(size);
  });

  it('is not known of a request that leaves the resolution or the ratio to the service', () => {
    expect(sizeOf({ prompt: 'A fox' })).toBeUndefined();
    expect(sizeOf({ prompt: 'A fox', resolution: '720p' })).toBeUndefined();
    expect(sizeOf({ prompt: 'A fox', aspect_ratio: '16:9' })).toBeUndefined();
  });

  it.each(['1280x721', '720p', ''])('is not %j, which no resolution and ratio make', (size) => {
    expect(shapeOf(size)).toBeUndefined();
  });
});
