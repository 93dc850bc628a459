import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { makeKey, openKeyFile } from '../../src/gateway/gateway-keys';
import { refusal } from '../../src/gateway/http-errors';
import { checkImage, createFileStorage, linkToImage, type VideoStorage } from '../../src/storage';
import { IMAGE_TYPES, LARGEST_IMAGE_BYTES } from '../../src/storage/images';
import { createLogger } from '../../src/worker/logger';
import {
  dataUrl,
  GIF,
  HTML,
  JPEG,
  LARGEST_PNG,
  PNG,
  pngOf,
  SVG,
  sha256Of,
  TOO_LARGE_PNG,
  WEBP,
} from '../support/images';
import { filesIn } from '../support/stored-files';
import { closedGateway } from './closed-gateway';

const [shop, press] = [makeKey('shop'), makeKey('press')];
const PNG_NAME = `shop/${sha256Of(PNG)}.png`;
const PNG_FILE = `images/${PNG_NAME}`;
const GATEWAY = 'http://gateway.example';

let folder: string;
let storage: VideoStorage;
let app: FastifyInstance;
let url: string;
let logged: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-images-'));
  const keysFile = join(folder, 'keys');
  writeFileSync(keysFile, `${shop.line}\n${press.line}\n`);
  storage = createFileStorage(join(folder, 'storage'));
  logged = [];
  // The last thing that a POST does.
  const start = () => Promise.reject(refusal('decision_refused'));
  ({ app } = await closedGateway({
    storage,
    videos: { start } as never,
    keys: openKeyFile(keysFile, () => undefined),
    logger: createLogger({ level: 'error', format: 'json', write: (line) => logged.push(line) }),
  }));
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => {
  rmSync(join(folder, 'storage'), { recursive: true, force: true });
  // Whatever is sent, it is no surprise.
  expect(logged).toEqual([]);
});
afterAll(async () => {
  await app?.close();
  rmSync(folder, { recursive: true });
});

const stored = async () => {
  const all = existsSync(join(folder, 'storage')) ? await filesIn(join(folder, 'storage')) : [];
  return all.filter((name) => !/^images(\/\w+)?$/.test(name));
};

interface Sent {
  body: Buffer | string;
  type?: string;
  key?: string;
  path?: string;
}

async function post({ body, type = 'image/png', key = shop.key, path = '/v1/images' }: Sent) {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body,
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const BOUNDARY = 'xxBOUNDARYxx';
const FORM = `multipart/form-data; boundary=${BOUNDARY}`;

/** A form: values are text, buffers are files. */
function form(fields: [name: string, value: string | Buffer, filename?: string][]): Buffer {
  const parts = fields.flatMap(([name, value, filename = 'fox.png']) => [
    Buffer.from(
      typeof value === 'string'
        ? `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`
        : `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: image/png\r\n\r\n`,
    ),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

describe('an uploaded image', () => {
  it.each([
    ['png', PNG],
    ['jpg', JPEG],
    ['webp', WEBP],
    ['gif', GIF],
  ] as const)(
    'of the kind %s is stored under its digest, whatever its content type says',
    async (extension, bytes) => {
      const sha256 = sha256Of(bytes);
      for (const type of ['image/png', 'application/octet-stream']) {
        expect(await post({ body: bytes, type })).toEqual({
          status: 200,
          body: {
            id: `image_${sha256}`,
            object: 'image',
            url: `videogen-image:shop/${sha256}.${extension}`,
            bytes: bytes.length,
            content_type: IMAGE_TYPES[extension],
            sha256,
          },
        });
      }
      expect(await stored()).toEqual([`images/shop/${sha256}.${extension}`]);
    },
  );

  it('may be the file of a form, with any name, and is one file however often it is sent', async () => {
    const names = ['fox.png', '../../etc/passwd', 'a\x01\x1b[2J\u202e.png', '', '.videogen-x.part'];
    const sent = names.map((name) => post({ body: form([['file', PNG, name]]), type: FORM }));
    for (const { status, body } of await Promise.all(sent)) {
      expect([status, body.url]).toEqual([200, `videogen-image:${PNG_NAME}`]);
    }
    expect(await stored()).toEqual([PNG_FILE]);
  });

  it('may have 20 MB, in a body and in a form', async () => {
    const body = LARGEST_PNG();
    expect((await post({ body })).body.bytes).toBe(LARGEST_IMAGE_BYTES);
    expect((await post({ body: form([['file', body]]), type: FORM })).body.bytes).toBe(LARGEST_IMAGE_BYTES);
    expect(await stored()).toHaveLength(1);
  });

  const manyFields = Array.from({ length: 60 }, (_, index): [string, string] => [`a${index}`, 'x']);
  it.each<[string, () => Sent, number]>([
    ['a page', () => ({ body: HTML }), 400],
    ['a drawing with a script', () => ({ body: SVG, type: 'image/svg+xml' }), 400],
    [
      'a page behind the first bytes of an image',
      () => ({ body: Buffer.concat([PNG.subarray(0, 8), HTML]) }),
      400,
    ],
    ['nothing', () => ({ body: '' }), 400],
    ['a text', () => ({ body: 'a fox', type: 'text/plain' }), 415],
    ['a page as a page', () => ({ body: HTML, type: 'text/html' }), 415],
    ['20 MB and a byte', () => ({ body: TOO_LARGE_PNG() }), 413],
    ['20 MB and a byte in a form', () => ({ body: form([['file', TOO_LARGE_PNG()]]), type: FORM }), 413],
    ['a form with many fields', () => ({ body: form([...manyFields, ['file', PNG]]), type: FORM }), 413],
    [
      'a form with two files',
      () => ({
        body: form([
          ['file', PNG],
          ['file', GIF],
        ]),
        type: FORM,
      }),
      413,
    ],
    ['a form with a file of another name', () => ({ body: form([['image', PNG]]), type: FORM }), 400],
    ['a form with a text in place of the file', () => ({ body: form([['file', 'a fox']]), type: FORM }), 400],
    ['a form that names a prototype', () => ({ body: form([['__proto__', PNG]]), type: FORM }), 400],
    ['a form without a boundary', () => ({ body: form([['file', PNG]]), type: 'multipart/form-data' }), 400],
    ['a form that ends too early', () => ({ body: form([['file', PNG]]).subarray(0, 160), type: FORM }), 400],
  ])('is not %s, and nothing of it is stored', async (_what, sent, status) => {
    const answer = await post(sent());
    expect([answer.status, typeof answer.body.error.message]).toEqual([status, 'string']);
    expect(await stored()).toEqual([]);
  });

  it('needs a key before a byte of it is read', async () => {
    for (const type of ['image/png', FORM]) {
      expect((await post({ body: 'not even an image', type, key: 'vgk_wrong' })).status).toBe(401);
    }
    const path = '/v1/videos/image-to-video';
    expect((await post({ body: '{', type: 'application/json', key: 'vgk_wrong', path })).status).toBe(401);
  });

  it('leaves nothing when its sender goes away midway', async () => {
    const { port, hostname } = new URL(url);
    for (const [type, body] of [
      ['image/png', PNG],
      [FORM, form([['file', PNG]])],
    ] as const) {
      const socket = connect(Number(port), hostname);
      const head = ['POST /v1/images HTTP/1.1', 'host: x', `authorization: Bearer ${shop.key}`];
      const rest = [`content-type: ${type}`, `content-length: ${body.length}`, '', ''];
      socket.write([...head, ...rest].join('\r\n'));
      await new Promise((resolve) => socket.write(body.subarray(0, body.length - 20), resolve));
      socket.destroy();
      await once(socket, 'close');
    }
    // The gateway has read what came before this.
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(await stored()).toEqual([]);
  });
});

describe('an image in a request', () => {
  const ask = (fields: object, path = '/v1/videos/image-to-video', key = shop.key) =>
    post({ body: JSON.stringify({ prompt: 'A fox', ...fields }), type: 'application/json', path, key });
  /** The image is good. */
  const GOOD = { error: { code: 'decision_refused' } };

  it.each<[string, () => Promise<{ body: object }>]>([
    ['as a data: URL', () => ask({ image_url: dataUrl(PNG, 'image/jpeg') })],
    ["as a data: URL in OpenAI's reference", () => ask({ input_reference: dataUrl(PNG) }, '/v1/videos')],
    [
      "in the object of OpenAI's reference",
      () => ask({ input_reference: { image_url: dataUrl(PNG) } }, '/v1/videos'),
    ],
    [
      "as the file of OpenAI's form",
      () =>
        post({
          body: form([
            ['prompt', 'A fox'],
            ['input_reference', PNG],
          ]),
          type: FORM,
          path: '/v1/videos',
        }),
    ],
    [
      "as the object of OpenAI's form",
      () =>
        post({
          body: form([
            ['prompt', 'A fox'],
            ['input_reference[image_url]', dataUrl(PNG)],
          ]),
          type: FORM,
          path: '/v1/videos',
        }),
    ],
  ])('%s is stored like an upload', async (_how, send) => {
    expect((await send()).body).toMatchObject(GOOD);
    expect(await stored()).toEqual([PNG_FILE]);
  });

  it('may be a data: URL of 20 MB', async () => {
    expect((await ask({ image_url: dataUrl(LARGEST_PNG()) })).body).toMatchObject(GOOD);
    expect(await stored()).toHaveLength(1);
  });

  it.each<[string, object, number, string]>([
    ['a data: URL of 20 MB and a byte', { image_url: () => dataUrl(TOO_LARGE_PNG()) }, 413, 'image_url'],
    ['a data: URL of a page', { image_url: dataUrl(HTML) }, 400, 'image_url'],
    ['a data: URL without base64', { image_url: 'data:image/png,abc' }, 400, 'image_url'],
    ['a data: URL of other letters', { image_url: 'data:image/png;base64,<script>' }, 400, 'image_url'],
    [
      'a data: URL with a blank in its scheme',
      { image_url: `da\nta:image/png;base64,${PNG.toString('base64')}` },
      400,
      'image_url',
    ],
    ['a reference that is none', { image_url: 'videogen-image:fox.png' }, 400, 'image_url'],
    ['a reference in capitals', { image_url: `VIDEOGEN-IMAGE:${PNG_NAME}` }, 400, 'image_url'],
    [
      'a reference to a file of the storage',
      { image_url: 'videogen-image:shop/../../jobs/x.json' },
      400,
      'image_url',
    ],
    ['a reference to no image', { image_url: `videogen-image:shop/${'0'.repeat(64)}.png` }, 400, 'image_url'],
    ['an image beside a wrong field', { image_url: dataUrl(PNG), duration: 50 }, 400, 'duration'],
  ])('%s is refused beside its field, and nothing is stored', async (_what, fields, status, param) => {
    const made = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'function' ? value() : value,
    ]);
    const answer = await ask(Object.fromEntries(made));
    expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    expect(await stored()).toEqual([]);
  });

  it('as a text of a form that is too long is refused, not cut off and stored', async () => {
    for (const name of ['input_reference', 'input_reference[image_url]']) {
      const fields: [string, string][] = [
        ['prompt', 'A fox'],
        [name, dataUrl(pngOf(3_000_000))],
      ];
      const answer = await post({ body: form(fields), type: FORM, path: '/v1/videos' });
      expect([answer.status, answer.body.error]).toMatchObject([
        413,
        { param: name, advice: 'Send the image as the file of the form, or with POST /v1/images.' },
      ]);
    }
    expect(await stored()).toEqual([]);
  });

  it('is the own one of a key: that of another key is as good as none', async () => {
    const { url } = (await post({ body: PNG })).body;
    expect((await ask({ image_url: url })).body).toMatchObject(GOOD);
    const foreign = await ask({ image_url: url }, undefined, press.key);
    const missing = await ask({ image_url: url.replace('shop', 'press') }, undefined, press.key);
    expect(foreign).toEqual(missing);
    expect([foreign.status, foreign.body.error.param]).toEqual([400, 'image_url']);
    const openAi = await ask({ input_reference: url }, '/v1/videos', press.key);
    expect([openAi.status, openAi.body.error.param]).toEqual([400, 'input_reference']);
  });
});

describe('a link', () => {
  const NOON_MS = Date.UTC(2026, 10, 16, 12);
  const image = checkImage(PNG, 'shop');
  const linkAt = async (nowMs: number) => (await linkToImage(storage, image, GATEWAY, nowMs)) ?? '';
  const follow = (link: string) => fetch(link.replace(GATEWAY, url));

  it('leads to the image without a key, with its own type and no other', async () => {
    await post({ body: PNG });
    const answer = await follow(await linkAt(Date.now()));
    expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, PNG]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'x-content-type-options': 'nosniff',
    });
  });

  it('is the same all day, so that a repeated submit is the same request, and works for a day at least', async () => {
    const link = await linkAt(NOON_MS);
    expect(await linkAt(NOON_MS + 11 * 3_600_000)).toBe(link);
    expect(await linkAt(NOON_MS + 12 * 3_600_000)).not.toBe(link);
    expect(new URL(link).searchParams.get('expires')).toBe(String(Date.UTC(2026, 10, 18) / 1_000));
  });

  it('is one of one secret, even if many workers make the first one', async () => {
    const links = await Promise.all(Array.from({ length: 8 }, () => linkAt(NOON_MS)));
    expect(new Set(links).size).toBe(1);
    expect(await stored()).toEqual(['images/link-secret']);
  });

  it.each<[string, (link: string) => string | Promise<string>]>([
    ['of two days ago', () => linkAt(Date.now() - 2 * 24 * 3_600_000)],
    ['with a later end', (link) => link.replace(/expires=\d/, 'expires=9')],
    ['with another signature', (link) => `${link.slice(0, -1)}${link.endsWith('0') ? '1' : '0'}`],
    ['with half a signature', (link) => link.slice(0, -32)],
    ['without a signature', (link) => link.replace(/&signature=.*/, '')],
    ['to another image', (link) => link.replace(sha256Of(PNG), sha256Of(GIF)).replace('.png', '.gif')],
    ['with another type', (link) => link.replace('.png', '.jpg')],
    ['to the secret', (link) => link.replace(PNG_NAME, 'link-secret')],
    ['out of the folder', (link) => link.replace(PNG_NAME, '..%2f..%2fkeys')],
  ])('%s leads nowhere', async (_what, change) => {
    await post({ body: PNG });
    await post({ body: GIF });
    const answer = await follow(await change(await linkAt(Date.now())));
    expect(answer.status).toBe(404);
  });

  it('leads nowhere without a secret in the storage, and makes none', async () => {
    await post({ body: PNG });
    expect(
      (await follow(`${GATEWAY}/v1/images/${PNG_NAME}?expires=9999999999&signature=${'0'.repeat(64)}`))
        .status,
    ).toBe(404);
    expect(await stored()).toEqual([PNG_FILE]);
  });
});
