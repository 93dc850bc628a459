import { SIZES } from '../../src/client/video-size';
import { HttpRefusal } from '../../src/gateway/http-errors';
import { type BodyKind, readVideoRequest } from '../../src/gateway/video-requests';

const read = (kind: BodyKind, body: unknown, requestFields: string[] = []) =>
  readVideoRequest(kind, body, { requestFields });

const refusalOf = (reading: () => unknown) => {
  try {
    reading();
  } catch (error) {
    if (error instanceof HttpRefusal) return error.refused;
    throw error;
  }
  throw new Error('it was accepted');
};

describe("the request of OpenAI's clients", () => {
  it('becomes one of the service', () => {
    const body = { model: 'sora-2', prompt: 'A fox', seconds: '4', size: '1280x720' };
    expect(read('openai', body)).toEqual({
      options: {},
      request: { prompt: 'A fox', duration: 4, resolution: '720p', aspect_ratio: '16:9' },
      asked: { model: 'sora-2', prompt: 'A fox', seconds: '4', size: '1280x720' },
    });
  });

  it('is shown without half a character at the end of a long prompt', () => {
    const { asked, request } = read('openai', {
      prompt: `${'x'.repeat(499)}🦊`,
      model: `${'y'.repeat(99)}🦊`,
    });
    expect(asked).toEqual({ prompt: 'x'.repeat(499), model: 'y'.repeat(99) });
    expect(request.prompt).toContain('🦊');
  });

  it('may have fields of the service beside its own', () => {
    const { request } = read('openai', {
      prompt: 'A fox',
      seed: 7,
      input_reference: 'https://a.example/fox.png',
    });
    expect(request).toEqual({ prompt: 'A fox', seed: 7, image_url: 'https://a.example/fox.png' });
  });

  it.each([
    [
      { prompt: 'A fox', seconds: '12' },
      'seconds',
      'seconds must be a whole number of at most 10, such as "4".',
    ],
    [
      { prompt: 'A fox', seconds: 'long' },
      'seconds',
      'seconds must be a whole number of at most 10, such as "4".',
    ],
    [{ prompt: 'A fox', size: '1024x1792' }, 'size', `size must be one of ${SIZES.join(', ')}.`],
    [{ prompt: 'A fox', input_reference: 7 }, 'input_reference', expect.stringContaining('must be the URL')],
    [{ seconds: '4' }, 'prompt', expect.stringContaining('prompt')],
    [{ prompt: 'A fox', colour: 'red' }, 'colour', expect.stringContaining('"colour": not a field')],
    ['A fox', undefined, 'The body must be a JSON object with a prompt.'],
  ])('%j is refused, and the field is named', (body, param, message) => {
    expect(refusalOf(() => read('openai', body))).toMatchObject({ status: 400, message });
    expect(refusalOf(() => read('openai', body)).param).toBe(param);
  });
});

it('a field that the profile of the service allows passes', () => {
  expect(read('text', { prompt: 'A fox', style: 'oil' }, ['style']).request).toEqual({
    prompt: 'A fox',
    style: 'oil',
  });
});

it('image to video needs an image', () => {
  expect(refusalOf(() => read('image', { prompt: 'A fox' }))).toMatchObject({
    status: 400,
    param: 'image_url',
  });
});

it('answers show the beginning of a long prompt', () => {
  const prompt = 'fox '.repeat(1_000);
  const { request, asked } = read('text', { prompt });
  expect(request.prompt).toBe(prompt);
  expect(asked.prompt).toHaveLength(500);
});

it('callback_url becomes an option of the job and never reaches the service', () => {
  const callback_url = 'https://example.com/hooks';
  expect(read('text', { prompt: 'A fox', callback_url })).toMatchObject({
    request: { prompt: 'A fox' },
    options: { callbackUrl: callback_url },
  });
  expect(read('text', { prompt: 'A fox', callback_url: null }).options).toEqual({});
});

it.each([
  '',
  'example.com',
  'ftp://example.com',
  'https://me:secret@example.com',
  'https://',
  5,
  `https://example.com/${'x'.repeat(2_000)}`,
])('the callback_url %j is refused with its field', (callback_url) => {
  expect(refusalOf(() => read('text', { prompt: 'A fox', callback_url }))).toMatchObject({
    param: 'callback_url',
    message: expect.stringContaining('callback_url must be an http(s) URL'),
  });
});

describe('with several services', () => {
  const services = {
    services: {
      fal: { profile: undefined, requestFields: ['loop'] },
      veo: { profile: undefined, requestFields: [] },
    },
    default: 'veo',
  };
  const ofServices = (kind: BodyKind, given: object) =>
    readVideoRequest(kind, { prompt: 'A fox', ...given }, { requestFields: [], services });

  it('the field service chooses one, is not sent to it, and allows its fields', () => {
    expect(ofServices('text', { service: 'fal', loop: true })).toMatchObject({
      request: { prompt: 'A fox', loop: true },
      options: { service: 'fal' },
    });
    expect(refusalOf(() => ofServices('text', { service: 'veo', loop: true })).param).toBe('loop');
  });

  it.each([
    ['the name of a service', { model: 'fal' }, 'fal'],
    ['another word', { model: 'sora-2' }, 'veo'],
    ['given with the field service', { model: 'fal', service: 'veo' }, 'veo'],
  ])("a model of OpenAI's clients that is %s", (_what, given, chosen) => {
    expect(ofServices('openai', given).options.service).toBe(chosen);
  });

  it.each([
    ['a list', ['fal', 'veo']],
    ['the text of a form', 'fal, veo'],
  ])('the field services as %s names those to try, with the fields of the first', (_what, names) => {
    expect(ofServices('openai', { services: names, model: 'veo', loop: true })).toMatchObject({
      request: { prompt: 'A fox', loop: true },
      options: { services: ['fal', 'veo'] },
    });
  });

  it.each([
    [{ services: ['fal', 'fall'] }, 'services', 'the service fall is not known: name one of fal, veo.'],
    [{ service: 'fall' }, 'service', 'the service fall is not known: name one of fal, veo.'],
    [{ services: ['fal'], service: 'veo' }, 'services', 'a job names either service or services, not both.'],
  ])('%j is a 400', (given, param, message) => {
    expect(refusalOf(() => ofServices('text', given))).toMatchObject({ status: 400, param, message });
  });

  it('a gateway without the file leaves the name to the workers', () => {
    expect(read('openai', { prompt: 'A fox', service: 'any', model: 'fal' }).options).toEqual({
      service: 'any',
    });
  });
});
