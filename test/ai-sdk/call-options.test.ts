import { replyJson, startRawServer } from '../service/raw-server';
import { askedFor, FOX, faultOf, KEY, serviceOf, useModelServer } from './models';

useModelServer();

test('a model is asked for one video, with the key of the job in the header of the profile', async () => {
  const { abortSignal, ...asked } = await askedFor({ ...FOX, duration: 5, seed: 7 });
  expect(asked).toEqual({
    prompt: 'A red fox',
    n: 1,
    duration: 5,
    seed: 7,
    providerOptions: {},
    headers: { 'Idempotency-Key': 'key-of-the-job' },
  });
  expect(abortSignal?.aborted).toBe(false);
  const other = await askedFor(FOX, { profile: { idempotencyHeader: 'X-Request-Id' } });
  expect(other.headers).toEqual({ 'X-Request-Id': 'key-of-the-job' });
  const none = await askedFor(FOX, { profile: { idempotencyHeader: null } });
  expect(none.headers).toBeUndefined();
});

// The sizes themselves are in client/video-size.test.ts. To these providers sizes mean nothing, too little, or others.
test.each([
  ['test.video', { resolution: '720p', aspect_ratio: '9:16' }, '720x1280', {}],
  ['test.video', { resolution: '1080p' }, '1920x1080', {}],
  ['test.video', {}, undefined, {}],
  ['fal.video', { resolution: '720p', aspect_ratio: '9:16' }, undefined, { fal: { resolution: '720p' } }],
  ['xai.video', { resolution: '720p' }, undefined, { xai: { resolution: '720p' } }],
  ['google.generative-ai', { resolution: '720p' }, undefined, { google: { resolution: '720p' } }],
  ['alibaba.video', { resolution: '720p', aspect_ratio: '4:3' }, '1088x832', {}],
  ['alibaba.video', { resolution: '720p', aspect_ratio: '21:9' }, '1680x720', {}],
] as const)(
  'models of %s get %j as the size %s and the options %j',
  async (provider, fields, size, options) => {
    const { resolution, aspectRatio, providerOptions } = await askedFor({ ...FOX, ...fields }, { provider });
    const ratio = 'aspect_ratio' in fields ? fields.aspect_ratio : undefined;
    expect([resolution, aspectRatio, providerOptions]).toEqual([size, ratio, options]);
  },
);

test('further fields and constants become options of the provider', async () => {
  const request = { ...FOX, negative_prompt: 'blur', loras: [{ path: 'a', scale: 0.5 }] };
  const { providerOptions } = await askedFor(request, {
    provider: 'replicate.video',
    profile: { requestFields: ['negative_prompt', 'loras'] },
    providerOptions: { replicate: { go_fast: true }, other: { a: 1 } },
  });
  expect(providerOptions).toEqual({
    replicate: { go_fast: true, negative_prompt: 'blur', loras: [{ path: 'a', scale: 0.5 }] },
    other: { a: 1 },
  });
});

test('a link to an image stays a link, and a data URL becomes its bytes', async () => {
  const link = await askedFor({ ...FOX, image_url: 'https://example.com/fox.png' });
  expect(link.image).toEqual({ type: 'url', url: 'https://example.com/fox.png' });
  const data = await askedFor({ ...FOX, image_url: 'data:image/png;base64,iVBORw0K' });
  expect(data.image).toEqual({ type: 'file', mediaType: 'image/png', data: 'iVBORw0K' });
});

describe('models of Google, which leave links to images out,', () => {
  const google = { provider: 'google.generative-ai' };

  test('get the bytes of the image', async () => {
    const host = await startRawServer(({ socket }) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 4\r\n\r\n\x89PNG', 'latin1'),
    );
    const image_url = `${host.url}/fox.png`;
    const { image } = await askedFor({ ...FOX, image_url }, { ...google, downloadAllow: ['127.0.0.1'] });
    expect(image).toEqual({ type: 'file', mediaType: 'image/png', data: new Uint8Array([137, 80, 78, 71]) });
    await host.close();
  });

  test('are asked for nothing while the image cannot be fetched', async () => {
    const host = await startRawServer((request) => replyJson(request, {}, { status: 503 }));
    const submits: unknown[] = [];
    const parts = { ...google, start: (options: unknown) => submits.push(options) };
    const image_url = `${host.url}/fox.png?signature=secret-of-the-link`;
    const request = { ...FOX, image_url };
    const later = await faultOf(serviceOf(parts, { downloadAllow: ['127.0.0.1'] }).start(request, KEY));
    expect(later).toMatchObject({
      kind: 'not-sent',
      message: expect.stringMatching(/^the image .* could not be fetched/),
    });
    const never = await faultOf(serviceOf(parts).start(request, KEY));
    expect(never).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('VIDEOGEN_DOWNLOAD_ALLOW'),
    });
    expect(JSON.stringify([later, never])).not.toContain('secret-of-the-link');
    expect(submits).toEqual([]);
    await host.close();
  });
});
