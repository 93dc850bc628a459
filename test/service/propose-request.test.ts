import type { VideoRequest } from '../../src/contract/request';
import { mergeProfiles } from '../../src/service';
import { mapRequest } from '../../src/service/map-request';
import { parseProfile } from '../../src/service/profile';
import { proposeRequest } from '../../src/service/propose-request';
import { PROVIDER_REQUESTS } from './provider-requests';

/** What an example does not show: "pro" and 960:960 could mean anything, so they stay constants. */
const NOT_SHOWN: Record<string, (keyof VideoRequest)[]> = {
  '/v1/videos/text2video': ['resolution'],
  '/v1/videos/image2video': ['resolution'],
  '/v1/image_to_video': ['resolution', 'aspect_ratio'],
};

test.each(PROVIDER_REQUESTS)(
  'what is proposed for $dialect at $path sends the same request',
  ({ path, body, means }) => {
    const { profile, request, sent } = proposeRequest(body);
    expect(JSON.parse(JSON.stringify(sent))).toEqual(body);
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    const shown = Object.entries(means).filter(([name]) => !NOT_SHOWN[path]?.some((field) => field === name));
    expect(request).toEqual(Object.fromEntries(shown));
  },
);

it('names the model as a field that callers may set', () => {
  const { profile } = proposeRequest({ model_name: 'k2', prompt: 'x' });
  expect(profile).toEqual({
    requestFields: ['model'],
    request: { fields: { model: { to: 'model_name', default: 'k2' } } },
  });
});

it('gives what belongs to an image to requests with one', () => {
  const { profile } = proposeRequest({
    content: [
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ],
  });
  expect(profile.request).toEqual({
    fields: { prompt: { to: 'content[0].text' } },
    constants: { 'content[0].type': 'text' },
    imageToVideo: {
      fields: { image_url: { to: 'content[1].image_url.url' } },
      constants: { 'content[1].type': 'image_url' },
    },
  });
  const mapped = mapRequest(profile, { prompt: 'A red fox' });
  expect(JSON.parse(JSON.stringify(mapped.ok && mapped.body))).toEqual({
    content: [{ type: 'text', text: 'A red fox' }],
  });
});

it('asks about what it did not find, and leaves out what is of one caller', () => {
  const { profile, notes } = proposeRequest({
    prompt: 'x',
    negative_prompt: 'rain',
    callback_url: 'https://example.com/hook',
    api_key: 'sk-1',
    auth: { token: 'sk-2' },
    seconds: '8 sec',
  });
  expect(profile.request).toEqual({
    fields: { duration: { to: 'seconds', as: '{value} sec' } },
    constants: { negative_prompt: 'rain' },
  });
  expect(notes).toEqual([
    'Not found in it: image_url, resolution, aspect_ratio, seed. Each is sent under its own name unless you give it a place, or to: null if the service does not take it.',
    'Left out, because they are of one caller: callback_url, api_key, auth.token.',
  ]);
});

it.each([
  null,
  [],
  'x',
  {},
  { a: [[{ prompt: 'x' }]] },
  { 'a b': { prompt: 'x' } },
  JSON.parse('{"__proto__":{"prompt":"x"}}'),
])('proposes nothing for %j', (body) => {
  expect(proposeRequest(body)).toEqual({
    profile: {},
    notes: ['Nothing in the request looks like a prompt: is it the body of a submit?'],
  });
});

it('takes a bounded time and memory for any body, and proposes only valid profiles', () => {
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]));
  let deep: unknown = { prompt: 'x' };
  for (let level = 0; level < 5_000; level++) deep = { a: deep };
  for (const body of [{ prompt: 'x', ...wide }, deep, { prompt: 'x', list: Array(100_000).fill({ a: 1 }) }]) {
    const { profile } = proposeRequest(body);
    expect(parseProfile(profile)).toMatchObject({ ok: true });
  }
});

it('is added to the profile in use', () => {
  const { profile } = proposeRequest({ text: 'x' });
  expect(mergeProfiles({ name: 'Foxes' }, profile)).toMatchObject({
    name: 'Foxes',
    request: { fields: { prompt: { to: 'text' } } },
  });
});
