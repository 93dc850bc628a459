import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { makeKey, openKeyFile } from '../../src/gateway/gateway-keys';
import { REQUEST_MEMO } from '../../src/gateway/video-object';
import { checkImage, createFileStorage, linkToImage, storeImage, type VideoStorage } from '../../src/storage';
import { IMAGE_TYPES, imageKey, LARGEST_IMAGE_BYTES } from '../../src/storage/images';
import { createLogger } from '../../src/worker/logger';
import {
  dataUrl,
  GIF,
  HTML,
  JPEG,
  LARGEST_PNG,
  PNG,
  pngOf,
  sha256Of,
  TOO_LARGE_PNG,
  WEBP,
} from '../support/images';
import { filesIn } from '../support/stored-files';
import { closedGateway, keysNamed, startsNothing, temporalWith } from './closed-gateway';

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
  ({ app } = await closedGateway({
    storage,
    videos: startsNothing().videos,
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
function form(...fields: [name: string, value: string | Buffer, filename?: string][]) {
  const parts = fields.flatMap(([name, value, filename = 'fox.png']) => {
    const isFile = typeof value !== 'string';
    const head = [
      `--${BOUNDARY}`,
      `Content-Disposition: form-data; name="${name}"${isFile ? `; filename="${filename}"` : ''}`,
      ...(isFile ? ['Content-Type: image/png'] : []),
    ];
    return [Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(value), Buffer.from('\r\n')];
  });
  return { body: Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]), type: FORM };
}

describe('an uploaded image', () => {
  it.each(Object.entries({ png: PNG, jpg: JPEG, webp: WEBP, gif: GIF }))(
    'of the kind %s is stored under its digest, whatever its content type says',
    async (extension, bytes) => {
      const sha256 = sha256Of(bytes);
      expect(await post({ body: bytes, type: 'application/octet-stream' })).toEqual({
        status: 200,
        body: {
          id: `image_${sha256}`,
          object: 'image',
          url: `videogen-image:shop/${sha256}.${extension}`,
          bytes: bytes.length,
          content_type: IMAGE_TYPES[extension as keyof typeof IMAGE_TYPES],
          sha256,
        },
      });
      expect((await post({ body: bytes, type: 'image/png' })).body.id).toBe(`image_${sha256}`);
      expect(await stored()).toEqual([`images/shop/${sha256}.${extension}`]);
    },
  );

  it('may be the file of a form, with any name, and is one file however often it is sent', async () => {
    const names = ['fox.png', '../../etc/passwd', 'a\x01\x1b[2J\u202e.png', '', '.videogen-x.part'];
    const sent = names.map((name) => post(form(['file', PNG, name])));
    for (const { status, body } of await Promise.all(sent)) {
      expect([status, body.url]).toEqual([200, `videogen-image:${PNG_NAME}`]);
    }
    expect(await stored()).toEqual([PNG_FILE]);
  });

  it('may have 20 MB', async () => {
    expect((await post(form(['file', LARGEST_PNG()]))).body.bytes).toBe(LARGEST_IMAGE_BYTES);
    expect(await stored()).toHaveLength(1);
  });

  const manyFields = Array.from({ length: 60 }, (_, index): [string, string] => [`a${index}`, 'x']);
  it.each<[string, () => Sent, number]>([
    ['a page', () => ({ body: HTML }), 400],
    ['20 MB and a byte', () => ({ body: TOO_LARGE_PNG() }), 413],
    ['20 MB and a byte in a form', () => form(['file', TOO_LARGE_PNG()]), 413],
    ['a form with many fields', () => form(...manyFields, ['file', PNG]), 413],
    ['a form with two files', () => form(['file', PNG], ['file', GIF]), 413],
    ['a form that names a prototype', () => form(['__proto__', PNG]), 400],
    ['a form without a boundary', () => ({ ...form(['file', PNG]), type: 'multipart/form-data' }), 400],
    [
      'a form that ends too early',
      () => ({ body: form(['file', PNG]).body.subarray(0, 160), type: FORM }),
      400,
    ],
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
    for (const { type, body } of [{ type: 'image/png', body: PNG }, form(['file', PNG])]) {
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
  const askInForm = (image: [name: string, value: string | Buffer]) =>
    post({ ...form(['prompt', 'A fox'], image), path: '/v1/videos' });
  /** The image is good. */
  const GOOD = { error: { code: 'decision_refused' } };

  it.each<[string, () => Promise<{ body: object }>]>([
    ['as a data: URL', () => ask({ image_url: dataUrl(PNG, 'image/jpeg') })],
    [
      "in the object of OpenAI's reference",
      () => ask({ input_reference: { image_url: dataUrl(PNG) } }, '/v1/videos'),
    ],
    ["as the object of OpenAI's form", () => askInForm(['input_reference[image_url]', dataUrl(PNG)])],
  ])('%s is stored like an upload', async (_how, send) => {
    expect((await send()).body).toMatchObject(GOOD);
    expect(await stored()).toEqual([PNG_FILE]);
  });

  it('may be a data: URL of 20 MB', async () => {
    expect((await ask({ image_url: dataUrl(LARGEST_PNG()) })).body).toMatchObject(GOOD);
    expect(await stored()).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ['a data: URL of a page', { image_url: dataUrl(HTML) }, 'image_url'],
    ['a data: URL without base64', { image_url: 'data:image/png,abc' }, 'image_url'],
    [
      'a data: URL with a blank in its scheme',
      { image_url: `da\nta:image/png;base64,${PNG.toString('base64')}` },
      'image_url',
    ],
    ['a reference in capitals', { image_url: `VIDEOGEN-IMAGE:${PNG_NAME}` }, 'image_url'],
    ['a reference to a file', { image_url: 'videogen-image:shop/../../jobs/x.json' }, 'image_url'],
    ['an image beside a wrong field', { image_url: dataUrl(PNG), duration: 50 }, 'duration'],
  ])('%s is refused beside its field, and nothing is stored', async (_what, fields, param) => {
    const answer = await ask(fields);
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
    expect(await stored()).toEqual([]);
  });

  it('as a text of a form that is too long is refused, not cut off and stored', async () => {
    const param = 'input_reference[image_url]';
    const { status, body } = await askInForm([param, dataUrl(pngOf(3_000_000))]);
    expect([status, body.error]).toMatchObject([
      413,
      { param, advice: expect.stringContaining('/v1/images') },
    ]);
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
  const link = async () => (await linkToImage(storage, checkImage(PNG, 'shop'), GATEWAY)) ?? '';
  const follow = (given: string) => fetch(given.replace(GATEWAY, url));

  it('leads to the image without a key, with its own type and no other', async () => {
    await post({ body: PNG });
    const answer = await follow(await link());
    expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, PNG]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'x-content-type-options': 'nosniff',
    });
  });

  it('with another signature, to another image, to the secret or out of the folder leads nowhere', async () => {
    await post({ body: PNG });
    await post({ body: GIF });
    const good = await link();
    for (const wrong of [
      `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`,
      good.replace(sha256Of(PNG), sha256Of(GIF)).replace('.png', '.gif'),
      good.replace(PNG_NAME, 'link-secret'),
      good.replace(PNG_NAME, '..%2f..%2fkeys'),
    ])
      expect([wrong, (await follow(wrong)).status]).toEqual([wrong, 404]);
  });
});

describe('the images of a key', () => {
  const LIMITS = { counted: { jobsADay: 1 }, small: { images: 2 }, shop: { images: 3 } };
  const numbered = (index: number) => Buffer.concat([PNG, Buffer.from([index])]);
  const queries: string[] = [];
  /** The references that jobs have which run. */
  const used: string[] = [];
  const client = temporalWith({
    count: () => Promise.reject(new ServiceError('Temporal is away')),
    async *list({ query }: { query: string }) {
      queries.push(query);
      yield { memo: {} };
      for (const image of used) yield { memo: { [REQUEST_MEMO]: { image } } };
    },
  });
  let gateway: FastifyInstance;
  beforeAll(async () => {
    ({ app: gateway } = await closedGateway({ client, storage, keys: keysNamed(LIMITS) }));
  });
  afterAll(() => gateway.close());

  const send = async (key: keyof typeof LIMITS, path: string, payload: Buffer | object) => {
    const type = Buffer.isBuffer(payload) ? 'image/png' : 'application/json';
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    return (await gateway.inject({ method: 'POST', url: path, headers, payload })).statusCode;
  };

  it('do not include that of a POST whose job is not counted', async () => {
    const body = { prompt: 'A fox', image_url: dataUrl(PNG) };
    expect(await send('counted', '/v1/videos/image-to-video', body)).toBe(503);
    expect(await stored()).toEqual([]);
  });

  it('are as many as its line says, and one that it has already is not counted again', async () => {
    const statuses = [];
    for (const index of [1, 2, 3, 1]) statuses.push(await send('small', '/v1/images', numbered(index)));
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  it('go after a day, when it stores the next one, unless a job that runs has them', async () => {
    const store = async (index: number, owner: string, ageHours: number) => {
      const image = checkImage(numbered(index), owner);
      await storeImage(storage, image);
      const storedAt = Date.now() / 1_000 - ageHours * 3_600;
      utimesSync(join(folder, 'storage', imageKey(image)), storedAt, storedAt);
      return image;
    };
    await store(1, 'shop', 25);
    const kept = [await store(2, 'shop', 25), await store(3, 'shop', 23), await store(4, '_cli', 25)];
    used.push(kept[0]?.url ?? '');
    // Room for three: the old one that goes makes it.
    expect(await send('shop', '/v1/images', numbered(5))).toBe(200);
    const left = [...kept, checkImage(numbered(5), 'shop')].map((image) => imageKey(image));
    expect((await stored()).sort()).toEqual(left.sort());
    expect(queries).toEqual([expect.stringMatching(/gateway-shop-.*CloseTime IS NULL/)]);
  });
});
