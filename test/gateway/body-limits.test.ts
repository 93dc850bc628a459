import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { closedGateway } from './closed-gateway';

let app: FastifyInstance;
beforeAll(async () => {
  ({ app } = await closedGateway());
});
afterAll(() => app.close());

const PNG = Buffer.from('\x89PNG\r\n\x1a\n....IHDR', 'latin1').toString('base64');
const LONG = 'x'.repeat(3 * 1024 * 1024);

/** In pieces, so without a Content-Length. */
async function post(json: string): Promise<[number, string]> {
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/v1/videos/text-to-video',
    headers: { host: 'localhost', 'content-type': 'application/json' },
    payload: Readable.from([json]),
  });
  return [statusCode, JSON.parse(body).error.code];
}

describe('a JSON body of more than 2 MiB', () => {
  it.each([
    ['without an image is refused unparsed', `{"prompt":"${LONG}`, [413, 'body_too_large']],
    [
      'that is large besides its image is too',
      `{"prompt":"${LONG}","image_url":"data:image/png;base64,${PNG}"}`,
      [413, 'body_too_large'],
    ],
    [
      'is read when the image makes it large',
      `{"prompt":"A fox","image_url":"data:image/png;base64,${LONG}"}`,
      [400, 'not_an_image'],
    ],
  ])('%s', async (_name, json, answer) => {
    expect(await post(json)).toEqual(answer);
  });
});

it('a body of many fields is refused before anything looks at each', async () => {
  const fields = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`f${index}`, 1]));
  expect(await post(JSON.stringify({ prompt: 'A fox', ...fields }))).toEqual([400, 'invalid_request']);
});

it('a body of many small values is refused unparsed, however they are held', async () => {
  const many = Array.from({ length: 10_001 }, () => 1);
  for (const json of [
    JSON.stringify({ prompt: 'A fox', x: { many } }),
    '[{},'.repeat(60) + '[],'.repeat(1e5),
  ])
    expect(await post(json)).toEqual([400, 'invalid_request']);
});

it('a field of a form that says it is JSON is not parsed', async () => {
  const part = 'content-disposition: form-data; name="prompt"\r\ncontent-type: application/json';
  const { json } = await app.inject({
    method: 'POST',
    url: '/v1/videos',
    headers: { host: 'localhost', 'content-type': 'multipart/form-data; boundary=X' },
    payload: `--X\r\n${part}\r\n\r\n[[],[\r\n--X--\r\n`,
  });
  expect(json().error).toMatchObject({ code: 'invalid_request', param: 'prompt' });
});

it('a body that is nested too deeply to be written again is refused like any other', async () => {
  const deep = 100_000;
  const json = `{"prompt":"A fox","x":${'['.repeat(deep)}${']'.repeat(deep)}}`;
  expect(await post(json)).toEqual([400, 'invalid_request']);
});

it('blanks around the bytes of an image do not hold the gateway up', async () => {
  const started = Date.now();
  const blanks = ' '.repeat(200_000);
  for (const url of [`data:image/png;base64,${blanks}!`, `data:;${blanks}base64${blanks},${blanks}!`])
    expect(await post(JSON.stringify({ prompt: 'A fox', image_url: url }))).toEqual([400, 'invalid_request']);
  expect(Date.now() - started).toBeLessThan(10_000);
});
