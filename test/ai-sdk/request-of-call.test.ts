import { requestOfCall } from '../../src/ai-sdk/request-of-call';
import type { AiSdkCallOptions } from '../../src/ai-sdk/video-model-types';
import { HTML, PNG, sha256Of, TOO_LARGE_PNG } from '../support/images';
import { callOf } from './model-call';

const mapped = (given: Partial<AiSdkCallOptions>) => requestOfCall(callOf(given));

test('fields that the interface has are asked for as they are', () => {
  expect(mapped({ aspectRatio: '9:16', duration: 5, seed: 7 })).toEqual({
    request: { prompt: 'A red fox', aspect_ratio: '9:16', duration: 5, seed: 7 },
    warnings: [],
  });
});

test.each<
  [
    given: Partial<AiSdkCallOptions>,
    fields: object,
    warnings: [type: string, feature: string, details: RegExp][],
  ]
>([
  [{ resolution: '1280x720' }, { resolution: '720p', aspect_ratio: '16:9' }, []],
  [{ resolution: '1080x1920', aspectRatio: '9:16' }, { resolution: '1080p', aspect_ratio: '9:16' }, []],
  [
    { resolution: '1280x720', aspectRatio: '9:16' },
    { resolution: '720p', aspect_ratio: '9:16' },
    [['compatibility', 'resolution', /^1280x720 is 16:9: the service is asked for 720p and 9:16[.]$/]],
  ],
  [{ resolution: '1300x700' }, {}, [['unsupported', 'resolution', /^"1300x700" is none of 854x480, /]]],
  [{ aspectRatio: 'adaptive' }, {}, [['unsupported', 'aspectRatio', /^"adaptive" is none of 16:9, /]]],
  [
    { resolution: '1280x720', aspectRatio: '2:1' },
    { resolution: '720p', aspect_ratio: '16:9' },
    [['unsupported', 'aspectRatio', /^"2:1" is none of/]],
  ],
])('the shape %j is asked for as %j', (given, fields, warnings) => {
  expect(mapped(given)).toEqual({
    request: { prompt: 'A red fox', ...fields },
    warnings: warnings.map(([type, feature, details]) => ({
      type,
      feature,
      details: expect.stringMatching(details),
    })),
  });
});

const image = { type: 'url', url: 'https://example.com/fox.png' } as const;

test.each<[feature: string, given: Partial<AiSdkCallOptions>]>([
  ['fps', { fps: 24 }],
  ['generateAudio', { generateAudio: false }],
  ['frameImages', { frameImages: [{ image, frameType: 'last_frame' }] }],
  ['inputReferences', { inputReferences: [image] }],
])('%s, which the interface has no field for, is a warning and never silent', (feature, given) => {
  expect(mapped(given)).toEqual({
    request: { prompt: 'A red fox' },
    warnings: [
      { type: 'unsupported', feature, details: expect.stringContaining('providerOptions.videogen.request') },
    ],
  });
});

test('an image by its URL is for the service to fetch, and so is a first frame', () => {
  const request = { prompt: 'A red fox', image_url: image.url };
  expect(mapped({ image })).toEqual({ request, warnings: [] });
  expect(mapped({ frameImages: [{ image, frameType: 'first_frame' }] })).toEqual({ request, warnings: [] });
});

test.each<[string, AiSdkCallOptions['image']]>([
  ['bytes', { type: 'file', mediaType: 'image/png', data: new Uint8Array(PNG) }],
  ['base64', { type: 'file', mediaType: 'image/png', data: PNG.toString('base64') }],
  ['a data: URL', { type: 'url', url: `data:image/png;base64,${PNG.toString('base64')}` }],
])('an image as %s is stored, and the job has only its name', (_how, given) => {
  const { request, image: stored } = mapped({ image: given });
  expect(request.image_url).toBe(`videogen-image:_ai_sdk/${sha256Of(PNG)}.png`);
  expect(stored?.bytes.equals(PNG)).toBe(true);
});

test.each<[string, AiSdkCallOptions['image'], RegExp]>([
  ['a web page', { type: 'file', mediaType: 'image/png', data: HTML }, /the image is not a complete PNG/],
  [
    'too large',
    { type: 'file', mediaType: 'image/png', data: TOO_LARGE_PNG() },
    /the image is larger than 20 MB/,
  ],
  [
    'a data: URL without base64',
    { type: 'url', url: 'data:image/svg+xml,<svg/>' },
    /the image must be a URL/,
  ],
  // A host without types may give anything. Left out, the video would be paid for without its image.
  ['of another kind', JSON.parse('{"type":"reference","reference":"fox"}'), /the image must be a URL/],
  ['a bare text', JSON.parse('"https://a.example/fox.png"'), /the image must be a URL/],
  ['nothing', JSON.parse('{"type":"file","mediaType":"image/png"}'), /the image must be a URL/],
  ['a URL that is missing', JSON.parse('{"type":"url"}'), /the image must be a URL/],
])('an image that is %s is refused', (_what, given, sentence) => {
  expect(() => mapped({ image: given })).toThrow(sentence);
});
