import { proposeRequest } from '../../src/service/propose-request';

const IMAGE = 'https://example.com/a.png';
const LETTERS = [...'abcdefghij'];

const partOf = (body: object) => proposeRequest(body).profile.request;
const meaningOf = (body: object) => proposeRequest(body).request;
const nested = (depth: number, value: unknown) =>
  LETTERS.slice(0, depth).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
const manyKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
const constantsOf = (body: object) => Object.keys(partOf(body)?.constants ?? {});

it('proposes nothing and asks nothing for a request in our own words', () => {
  const body = {
    prompt: 'x',
    image_url: IMAGE,
    resolution: '720p',
    aspect_ratio: '16:9',
    duration: 5,
    seed: 7,
  };
  expect(proposeRequest(body)).toMatchObject({ profile: { request: {} }, request: body, notes: [] });
  expect(partOf(body)).toEqual({});
});

it('proposes no profile that would be refused, and says why', () => {
  expect(proposeRequest({ prompt: 'x', style: 'y'.repeat(2_001) })).toEqual({
    profile: {},
    notes: [expect.stringMatching(/^No profile can be proposed for this request: request.constants.style /)],
  });
});

describe('the prompt', () => {
  it.each([
    ['a text', { prompt: 5, text: 'x' }],
    ['not empty', { prompt: '', text: 'x' }],
    ['no link', { prompt: 'http://example.com', caption: IMAGE, text: 'x' }],
    ['not what to avoid', { negative_prompt: 'rain', text: 'x' }],
    ['no setting about it', { enhance_prompt: 'yes', prompt_optimizer: 'v2', text: 'x' }],
    ['not inside another part', { prompt: { style: 'noir' }, text: 'x' }],
  ])('is %s', (_what, body) => {
    expect(meaningOf(body)).toEqual({ prompt: 'x' });
    expect(partOf(body)?.fields).toEqual({ prompt: { to: 'text' } });
  });

  it('may contain a link, and is nothing else besides', () => {
    expect(meaningOf({ prompt: `like ${IMAGE}` })).toEqual({ prompt: `like ${IMAGE}` });
    expect(meaningOf({ prompt: '16:9' })).toEqual({ prompt: '16:9' });
  });
});

describe('the image', () => {
  it.each([IMAGE, 'http://example.com/a.png', 'data:image/png;base64,AA=='])('may be %s', (image) => {
    expect(meaningOf({ prompt: 'x', first_frame: image })).toEqual({ prompt: 'x', image_url: image });
  });

  it.each([
    { link: IMAGE },
    { image_webhook: IMAGE },
    { image: `see ${IMAGE}` },
    { image: 'a.png' },
    { image: 5 },
  ])('is not in %j', (part) => {
    expect(meaningOf({ prompt: 'x', ...part })).toEqual({ prompt: 'x' });
  });

  it('takes with it what is in its object', () => {
    expect(partOf({ prompt: 'x', image: { url: IMAGE, kind: 'first' }, mode: 'fast' })).toEqual({
      constants: { mode: 'fast' },
      imageToVideo: { fields: { image_url: { to: 'image.url' } }, constants: { 'image.kind': 'first' } },
    });
  });

  it('takes with it what is in its entry of a list, whichever it is', () => {
    const others = Array(9).fill({ type: 'pad' });
    const image = { type: 'image', image: { url: IMAGE } };
    const part = partOf({
      content: [{ text: 'x' }, ...others, image].map((entry, at) => ({ at, ...entry })),
    });
    expect(part?.imageToVideo?.constants).toEqual({ 'content[10].at': 10, 'content[10].type': 'image' });
  });

  it('takes nothing with it from an object that also has another field', () => {
    expect(partOf({ input: { prompt: 'x', image_url: IMAGE, mode: 'fast' }, seed: 7 })).toEqual({
      fields: { prompt: { to: 'input.prompt' } },
      constants: { 'input.mode': 'fast' },
      imageToVideo: { fields: { image_url: { to: 'input.image_url' } } },
    });
  });
});

describe('the seed, the duration and the quality', () => {
  it('may be texts', () => {
    expect(proposeRequest({ prompt: 'x', seed: '42', seconds: '12s' })).toMatchObject({
      profile: {
        request: { fields: { seed: { as: '{value}' }, duration: { to: 'seconds', as: '{value}s' } } },
      },
      request: { prompt: 'x', seed: 42, duration: 12 },
      sent: { prompt: 'x', seed: '42', seconds: '12s' },
    });
  });

  it.each<[string, unknown]>([
    ['seed', 1.5],
    ['seed', true],
    ['seed', '7x'],
    ['seed', 'x7'],
    ['seed', '1'.repeat(16)],
    ['duration', 5.5],
    ['duration', 'about 5s'],
    ['duration', '5s of 30'],
    ['duration', 'long'],
    ['duration', null],
    ['quality', 5],
  ])('%s is a constant if it is %j', (name, value) => {
    const { profile, request } = proposeRequest({ prompt: 'x', [`the_${name}`]: value });
    expect(profile.request).toEqual({ constants: { [`the_${name}`]: value } });
    expect(request).toEqual({ prompt: 'x' });
  });
});

describe('a size', () => {
  const rowsOf = (size: string) => partOf({ prompt: 'x', size })?.fields?.resolution?.values;

  it('stands for a resolution and an aspect ratio, and for the same turned', () => {
    expect(rowsOf('1280x720')).toEqual({
      '720p 16:9': '1280x720',
      '720p 9:16': '720x1280',
      '16:9': '1280x720',
      '9:16': '720x1280',
      '720p': '1280x720',
    });
    expect(rowsOf('720*960')).toEqual({
      '720p 3:4': '720*960',
      '720p 4:3': '960*720',
      '3:4': '720*960',
      '4:3': '960*720',
      '720p': '720*960',
    });
  });

  it('of a ratio that cannot be turned stands for that ratio alone', () => {
    expect(rowsOf('720x720')).toEqual({ '720p 1:1': '720x720', '1:1': '720x720', '720p': '720x720' });
    expect(rowsOf('1680x720')).toEqual({ '720p 21:9': '1680x720', '21:9': '1680x720', '720p': '1680x720' });
  });

  it.each(['1000x720', '1280x700', 'about 1280x720', '1280x720 px', 'large'])(
    'is a constant if it is %s',
    (size) => {
      expect(partOf({ prompt: 'x', size })).toEqual({ constants: { size } });
    },
  );

  it('is a constant under a name that says nothing of the kind', () => {
    expect(partOf({ prompt: 'x', style: '720p', look: '1280x720' })).toEqual({
      constants: { style: '720p', look: '1280x720' },
    });
  });

  it('leaves a ratio beside it as it is', () => {
    const body = { prompt: 'x', size: '1280x720', aspect: '16:9' };
    const { sent, request, notes } = proposeRequest(body);
    expect(JSON.parse(JSON.stringify(sent))).toEqual(body);
    expect(request).toEqual({ prompt: 'x', resolution: '720p', aspect_ratio: '16:9' });
    expect(notes).toEqual([
      'Add a row for each further size that the service takes.',
      expect.stringMatching(/^Not found in it: image_url, duration, seed\. /),
    ]);
  });

  it('written in capitals has a row for each resolution, and a note', () => {
    const { profile, notes } = proposeRequest({ prompt: 'x', resolution: '720P' });
    expect(profile.request?.fields?.resolution?.values).toMatchObject({ '720p': '720P', '1080p': '1080P' });
    expect(notes[0]).toBe('Remove the resolutions that the service does not take.');
  });
});

describe('of a body', () => {
  it('null is a constant too, and a value that JSON cannot have is left out', () => {
    expect(partOf({ prompt: 'x', style: null })).toEqual({ constants: { style: null } });
    expect(partOf({ prompt: 'x', style: undefined })).toEqual({});
  });

  it('lists inside lists are left out', () => {
    expect(partOf({ prompt: 'x', a: [['y']], b: ['z'] })).toEqual({ constants: { 'b[0]': 'z' } });
  });

  it('the first 100 values, and the first 21 entries of a list, are taken', () => {
    expect(constantsOf({ prompt: 'x', ...manyKeys(150) })).toHaveLength(99);
    expect(constantsOf({ prompt: 'x', list: Array(25).fill(1) })).toHaveLength(21);
  });

  it('values are taken that are at most ten steps down', () => {
    expect(meaningOf({ x: nested(8, { prompt: 'x' }) })).toEqual({ prompt: 'x' });
    expect(meaningOf({ x: [nested(7, { prompt: 'x' })] })).toEqual({ prompt: 'x' });
    const tooDeep = ['Nothing in the request looks like a prompt: is it the body of a submit?'];
    expect(proposeRequest({ x: nested(9, { prompt: 'x' }) }).notes).toEqual(tooDeep);
    expect(proposeRequest({ x: [nested(8, { prompt: 'x' })] }).notes).toEqual(tooDeep);
  });

  it('places of at most 200 characters are taken', () => {
    expect(constantsOf({ prompt: 'x', ['k'.repeat(200)]: 1, ['k'.repeat(201)]: 1 })).toEqual([
      'k'.repeat(200),
    ]);
  });
});
