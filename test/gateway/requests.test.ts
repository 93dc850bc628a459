import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { SIZES } from '../../src/client/video-size';
import { closedGateway, startsNothing } from './closed-gateway';

const { asked, videos } = startsNothing();
let app: FastifyInstance;
let withServices: FastifyInstance;
beforeAll(async () => {
  ({ app } = await closedGateway({ videos, requestFields: ['style'] }));
  const one = (...requestFields: string[]) => ({ profile: undefined, requestFields });
  const services = { services: { fal: one('loop'), veo: one() }, default: 'veo' };
  ({ app: withServices } = await closedGateway({ videos, services }));
});
beforeEach(() => asked.splice(0));
afterAll(() => Promise.all([app.close(), withServices.close()]));

const OPENAI = '/v1/videos';
const TEXT = '/v1/videos/text-to-video';
const JSON_TYPE = 'application/json';
const HOST = { host: 'localhost' };

async function post(url: string, payload: string | Readable, type = JSON_TYPE, gateway = app) {
  const headers = { ...HOST, 'content-type': type };
  const answer = await gateway.inject({ method: 'POST', url, headers, payload });
  return { status: answer.statusCode, ...answer.json().error };
}

/** What a POST starts. */
async function startedBy(url: string, body: object, gateway = app) {
  expect(await post(url, JSON.stringify(body), JSON_TYPE, gateway)).toMatchObject({
    code: 'decision_refused',
  });
  const [started] = asked.splice(0);
  return started;
}

describe('a request becomes a job', () => {
  it.each<[what: string, url: string, body: object, request: object]>([
    [
      "with the fields of OpenAI's clients",
      OPENAI,
      { model: 'sora-2', prompt: 'A fox', seconds: '4', size: '1280x720' },
      { prompt: 'A fox', duration: 4, resolution: '720p', aspect_ratio: '16:9' },
    ],
    [
      "with fields of the service besides those of OpenAI's clients",
      OPENAI,
      { prompt: 'A fox', seed: 7, input_reference: 'https://a.example/fox.png' },
      { prompt: 'A fox', seed: 7, image_url: 'https://a.example/fox.png' },
    ],
    [
      'with a field that the profile allows',
      TEXT,
      { prompt: 'A fox', style: 'oil' },
      { prompt: 'A fox', style: 'oil' },
    ],
  ])('%s', async (_what, url, body, request) => {
    expect(await startedBy(url, body)).toMatchObject({ request });
  });

  it('with callback_url as an option, which never reaches the service', async () => {
    const callback_url = 'https://example.com/hooks';
    const started = await startedBy(TEXT, { prompt: 'A fox', callback_url });
    expect(started?.request).toEqual({ prompt: 'A fox' });
    expect(started?.options).toMatchObject({ callbackUrl: callback_url });
  });

  it('whole, of which answers show the beginning, without half a character at its end', async () => {
    const prompt = `${'x'.repeat(499)}🦊`;
    const { request, shown } =
      (await startedBy(OPENAI, { prompt, model: `${'y'.repeat(99)}🦊`, seconds: '4', size: '1280x720' })) ??
      {};
    expect(request?.prompt).toBe(prompt);
    expect(shown).toEqual({
      prompt: 'x'.repeat(499),
      model: 'y'.repeat(99),
      seconds: '4',
      size: '1280x720',
    });
  });
});

describe('with several services', () => {
  it.each<[what: string, url: string, body: object, options: object, request?: object]>([
    [
      'the field service chooses one and allows its fields',
      TEXT,
      { service: 'fal', loop: true },
      { service: 'fal' },
      { prompt: 'A fox', loop: true },
    ],
    ["OpenAI's model chooses the service of its name", OPENAI, { model: 'fal' }, { service: 'fal' }],
    [
      "another model of OpenAI's is that of the default service",
      OPENAI,
      { model: 'sora-2' },
      { service: 'veo' },
    ],
    [
      "the field service wins over OpenAI's model",
      OPENAI,
      { model: 'fal', service: 'veo' },
      { service: 'veo' },
    ],
    [
      'a list of services has the fields of the first',
      OPENAI,
      { services: ['fal', 'veo'], loop: true },
      { services: ['fal', 'veo'] },
      { prompt: 'A fox', loop: true },
    ],
  ])('%s', async (_what, url, body, options, request = { prompt: 'A fox' }) => {
    const started = await startedBy(url, { prompt: 'A fox', ...body }, withServices);
    expect(started).toMatchObject({ request, options });
    expect(started?.request).toEqual(request);
  });

  it.each([
    [{ services: ['fal', 'fall'] }, 'services', 'the service fall is not known: name one of fal, veo.'],
    [{ services: ['fal'], service: 'veo' }, 'services', 'a job names either service or services, not both.'],
    [{ service: 'veo', loop: true }, 'loop', expect.stringContaining('"loop": not a field')],
  ])('%j is refused', async (given, param, message) => {
    const body = JSON.stringify({ prompt: 'A fox', ...given });
    expect(await post(TEXT, body, JSON_TYPE, withServices)).toMatchObject({ status: 400, param, message });
  });

  it('a gateway that does not know them leaves the name to the workers', async () => {
    const { options } = (await startedBy(OPENAI, { prompt: 'A fox', service: 'any', model: 'fal' })) ?? {};
    expect(options).toMatchObject({ service: 'any' });
  });
});

it.each<[body: object | string, param: string | null, message: string]>([
  [{ prompt: 'A fox', seconds: '12' }, 'seconds', 'seconds must be a whole number of at most 10, such as'],
  [{ prompt: 'A fox', size: '1024x1792' }, 'size', `size must be one of ${SIZES.join(', ')}.`],
  [{ prompt: 'A fox', input_reference: 7 }, 'input_reference', 'must be the URL'],
  [{ prompt: 'A fox', callback_url: 'ftp://a' }, 'callback_url', 'callback_url must be an http(s) URL'],
  [{ promt: 'A fox' }, 'prompt', 'the fields are prompt, image_url'],
  ['A fox', null, 'The body must be a JSON object with a prompt.'],
])("%j in OpenAI's words is refused, and the field is named", async (body, param, message) => {
  const error = await post(OPENAI, JSON.stringify(body));
  expect(error).toMatchObject({ status: 400, param, message: expect.stringContaining(message) });
  expect(error.message).not.toMatch(/[?]\.|Invalid input/);
});

const FORM = 'multipart/form-data; boundary=x';
const JSON_IN_FORM = 'content-disposition: form-data; name="prompt"\r\ncontent-type: application/json';

it.each<[what: string, type: string, payload: string, status: number, message: string]>([
  ['malformed JSON', JSON_TYPE, '{"prompt":', 400, 'The body is not JSON.'],
  ['an empty body', JSON_TYPE, '', 400, 'The body is empty: it must be a JSON object.'],
  ['a list', JSON_TYPE, '[]', 400, 'must be a JSON object'],
  ['a key that would become a prototype', JSON_TYPE, '{"__proto__":{"prompt":"x"}}', 400, ''],
  ['a number that no integer holds', JSON_TYPE, '{"prompt":"A fox","seed":1e400}', 400, 'seed must be'],
  ['the default type of curl', 'application/x-www-form-urlencoded', '{}', 415, 'JSON is application/json.'],
  ['a form that breaks off', FORM, '--x\r\nContent-Disp', 400, 'The form cannot be read'],
])('%s as a body is refused with what to do', async (_what, type, payload, status, message) => {
  for (const url of [OPENAI, TEXT]) {
    const error = await post(url, payload, type);
    expect(error).toMatchObject({ status, message: expect.stringContaining(message) });
    expect(error.code).not.toContain('fst_');
  }
});

const PNG_BASE64 = Buffer.from('\x89PNG\r\n\x1a\n....IHDR', 'latin1').toString('base64');
const LONG = 'x'.repeat(3 * 1024 * 1024);
const manyFields = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`f${index}`, 1]));
const BLANKS = ' '.repeat(200_000);

it.each<[what: string, json: string, status: number, message: string]>([
  ['3 MiB without an image, unparsed,', `{"prompt":"${LONG}`, 413, 'The body is too large.'],
  [
    '3 MiB besides its image',
    `{"prompt":"${LONG}","image_url":"data:image/png;base64,${PNG_BASE64}"}`,
    413,
    'The body is too large.',
  ],
  [
    '3 MiB that only its image takes, once it is read,',
    `{"prompt":"A fox","image_url":"data:image/png;base64,${LONG}"}`,
    400,
    'The image is not a PNG',
  ],
  ['1,001 fields', JSON.stringify({ prompt: 'A fox', ...manyFields }), 400, 'more than 1000 fields'],
  ['100,000 lists, unparsed,', '[{},'.repeat(60) + '[],'.repeat(1e5), 400, 'more than 10000 values'],
  [
    '100,000 levels',
    `{"prompt":"A fox","x":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
    400,
    'nested deeper than',
  ],
])('a body of %s is refused', async (_what, json, status, message) => {
  // In pieces, so without a Content-Length.
  const error = await post(TEXT, Readable.from([json]));
  expect(error).toMatchObject({ status, message: expect.stringContaining(message) });
});

it('a field of a form that says it is JSON is not parsed', async () => {
  const error = await post(OPENAI, `--x\r\n${JSON_IN_FORM}\r\n\r\n[[],[\r\n--x--\r\n`, FORM);
  expect(error).toMatchObject({ code: 'invalid_request', param: 'prompt' });
});

it('blanks around the bytes of an image do not hold the gateway up', async () => {
  const started = Date.now();
  for (const image_url of [`data:image/png;base64,${BLANKS}!`, `data:;${BLANKS}base64${BLANKS},${BLANKS}!`])
    expect(await post(TEXT, JSON.stringify({ prompt: 'A fox', image_url }))).toMatchObject({ status: 400 });
  expect(Date.now() - started).toBeLessThan(10_000);
});

const PAGE_RULE = 'limit must be a whole number from 1 to 100.';

it.each<[what: string, url: string, status: number, message: string]>([
  ['a NUL byte in an id', '/v1/videos/a%00b', 404, 'There is no such video.'],
  ['an id of 5,000 characters', `/v1/videos/${'a'.repeat(5_000)}`, 404, 'There is nothing here.'],
  ['a repeated limit', '/v1/videos?limit=1&limit=2', 400, PAGE_RULE],
  ['a limit that is too high', '/v1/videos?limit=1000', 400, PAGE_RULE],
  ['an unknown cursor', '/v1/videos?after=%00', 404, 'There is no such video.'],
  ['a path that is not there', '/v2/videos', 404, 'There is nothing here.'],
])('%s is refused in JSON', async (_what, url, status, message) => {
  const answer = await app.inject({ url, headers: HOST });
  expect([answer.statusCode, answer.headers['x-content-type-options']]).toEqual([status, 'nosniff']);
  expect(answer.json().error.message).toContain(message);
});

// Schemathesis found it answered with 400.
it('QUERY is 405 with the methods of the path', async () => {
  const answer = await app.inject({ method: 'QUERY', url: '/v1/videos', headers: HOST } as never);
  expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
});
