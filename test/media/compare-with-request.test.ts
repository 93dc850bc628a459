import type { VideoFacts } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import { describeMismatches } from '../../src/media/compare-with-request';
import { expectedOf } from '../../workflows/generate-video';

const REQUESTED: Partial<VideoRequest> = { resolution: '720p', aspect_ratio: '16:9', duration: 5 };
const MADE: VideoFacts = { width: 1280, height: 720, durationSeconds: 5 };

test.each<[what: string, request: Partial<VideoRequest>, facts: VideoFacts]>([
  ['matches its request', {}, {}],
  ['has a side that the codec rounded up', { resolution: '1080p' }, { width: 1920, height: 1088 }],
  ['has a side that the codec rounded down', {}, { width: 1280, height: 704 }],
  ['is upright, as requested', { aspect_ratio: '9:16' }, { width: 720, height: 1280 }],
  ['has an even number for an odd one', { resolution: '480p' }, { width: 854, height: 480 }],
  ['is half a second shorter', {}, { durationSeconds: 4.5 }],
  ['is half a second longer', {}, { durationSeconds: 5.5 }],
  ['is a tenth longer', { duration: 10 }, { durationSeconds: 11 }],
  ['has no readable facts', {}, { width: undefined, height: undefined, durationSeconds: undefined }],
  ['has only one readable side', {}, { width: 10, height: undefined }],
  [
    'has no facts in its request',
    { resolution: undefined, aspect_ratio: undefined, duration: undefined },
    { width: 10, height: 10, durationSeconds: 60 },
  ],
  ['has a requested duration of 0', { duration: 0 }, {}],
])('there is no warning for a video that %s', (_what, request, facts) => {
  expect(describeMismatches({ ...REQUESTED, ...request }, { ...MADE, ...facts })).toEqual([]);
});

test.each<[what: string, facts: VideoFacts, sentences: string[]]>([
  ['is smaller', { width: 640, height: 360 }, ['720p was requested, but the video is 640x360']],
  ['is larger', { width: 1920, height: 1080 }, ['720p was requested, but the video is 1920x1080']],
  ['has another aspect ratio', { width: 960, height: 720 }, ['16:9 was requested, but the video is 960x720']],
  ['lies on its side', { width: 720, height: 1280 }, ['16:9 was requested, but the video is 720x1280']],
  ['is shorter', { durationSeconds: 3.204 }, ['5 s were requested, but the video is 3.2 s long']],
  ['is longer', { durationSeconds: 10 }, ['5 s were requested, but the video is 10 s long']],
  [
    'differs in everything',
    { width: 480, height: 480, durationSeconds: 1 },
    [
      '720p was requested, but the video is 480x480',
      '16:9 was requested, but the video is 480x480',
      '5 s were requested, but the video is 1 s long',
    ],
  ],
])('there is a warning for a video that %s', (_what, facts, sentences) => {
  expect(describeMismatches(REQUESTED, { ...MADE, ...facts })).toEqual(sentences);
});

test('a video is compared with the fields of its request that are set', () => {
  const fields = { resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 0 } as const;
  expect(expectedOf({ prompt: 'A fox', image_url: 'https://example.com', ...fields })).toEqual(fields);
  expect(expectedOf({ prompt: 'A fox', seed: undefined })).toStrictEqual({});
});
