import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  BadImage,
  checkImage,
  createFileStorage,
  hasImage,
  IMAGE_LINK_PATH,
  IMAGE_TYPES,
  imageKey,
  linkToImage,
  openImage,
  openLinkedImage,
  parseImageReference,
  storeImage,
  type VideoStorage,
} from '../../src/storage';
import { GIF, HTML, JPEG, LARGEST_PNG, PNG, SVG, sha256Of, TOO_LARGE_PNG, WEBP } from '../support/images';

const SHA256 = sha256Of(PNG);

async function readWhole(opening: ReturnType<typeof openImage>) {
  const { content, bytes: length, contentType } = (await opening) ?? {};
  if (content === undefined) return undefined;
  const bytes = await buffer(content);
  expect(length).toBe(bytes.length);
  return { bytes, contentType };
}

test.each(Object.entries({ png: PNG, jpg: JPEG, webp: WEBP, gif: GIF }))(
  'a %s is known by its bytes, and named by its owner and its bytes',
  (extension, bytes) => {
    const image = checkImage(bytes, 'web_shop');
    const contentType = IMAGE_TYPES[extension as keyof typeof IMAGE_TYPES];
    const name = `web_shop/${sha256Of(bytes)}.${extension}`;
    const reference = { name, owner: 'web_shop', sha256: sha256Of(bytes), contentType };
    expect(image).toEqual({ ...reference, url: `videogen-image:${name}`, bytes });
    expect(parseImageReference(image.url)).toEqual(reference);
    expect(imageKey(image)).toBe(`images/${name}`);
  },
);

test.each([
  ['a page', HTML],
  ['a drawing with a script', SVG],
  ['nothing', Buffer.alloc(0)],
  ['a PNG that begins with another chunk', changed(PNG, 12, 0x49, 0x44, 0x41, 0x54)],
  ['a WebP of an unknown kind', changed(WEBP, 15, 0x39)],
])('%s is not an image', (_what, bytes) => {
  expect(() => checkImage(bytes, 'shop')).toThrow(BadImage);
  expect(() => checkImage(bytes, 'shop')).toThrow('is not a PNG, JPEG, WebP or GIF image');
});

function changed(bytes: Buffer, at: number, ...values: number[]): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(values, at);
  return copy;
}

test('an image may have the largest size, and not a byte more', () => {
  expect(checkImage(LARGEST_PNG(), 'shop').contentType).toBe('image/png');
  expect(() => checkImage(TOO_LARGE_PNG(), 'shop')).toThrow(
    expect.objectContaining({ reason: 'too-large', message: 'is larger than 20 MB' }),
  );
});

test.each([
  `shop/${SHA256}.png`,
  `https:shop/${SHA256}.png`,
  `VIDEOGEN-IMAGE:shop/${SHA256}.png`,
  `shop/${SHA256}.png videogen-image:`,
  `videogen-image:shop/${SHA256}.svg`,
  `videogen-image:shop/${SHA256}.PNG`,
  `videogen-image:shop/${SHA256}.png?size=2`,
  `videogen-image:shop/${SHA256.slice(1)}.png`,
  `videogen-image:../${SHA256}.png`,
  `videogen-image:/shop/${SHA256}.png`,
  'videogen-image:',
])('%s is no reference of exactly our form', (url) => {
  expect(parseImageReference(url)).toBeUndefined();
});

describe('in a storage', () => {
  let folder: string;
  let storage: VideoStorage;
  const image = checkImage(PNG, 'shop');
  const NOON = Date.UTC(2026, 10, 16, 12);
  const DAY_MS = 24 * 3_600_000;
  const linkAt = (nowMs: number, gatewayUrl?: string) => linkToImage(storage, image, gatewayUrl, nowMs);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'videogen-images-'));
    storage = createFileStorage(folder);
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('an image is stored once and read whole', async () => {
    expect(await hasImage(storage, image)).toBe(false);
    expect(await openImage(storage, image)).toBeUndefined();
    await Promise.all([storeImage(storage, image), storeImage(storage, image)]);
    expect(await hasImage(storage, image)).toBe(true);
    expect(await readWhole(openImage(storage, image))).toEqual({ bytes: PNG, contentType: 'image/png' });
  });

  it('a file with other bytes is not the image of its name', async () => {
    await storeImage(storage, image);
    await writeFile(join(folder, imageKey(image)), GIF);
    expect(await openImage(storage, image)).toBeUndefined();
  });

  it('a link leads to the image for one to two days, and is the same all day', async () => {
    await storeImage(storage, image);
    const link = await linkAt(NOON, 'https://gateway.example/base///');
    expect(link).toMatch(/^https:\/\/gateway\.example\/base\/v1\/images\//);
    expect(await linkAt(NOON + 11 * 3_600_000, 'https://gateway.example/base')).toBe(link);
    expect(await linkAt(NOON + DAY_MS, 'https://gateway.example/base')).not.toBe(link);
    const asked = new URL((link ?? '').replace('/base', ''));
    expect(asked.pathname.startsWith(`${IMAGE_LINK_PATH}/`)).toBe(true);
    expect(await readWhole(openLinkedImage(storage, asked, NOON))).toEqual({
      bytes: PNG,
      contentType: 'image/png',
    });
    const endsAt = Number(asked.searchParams.get('expires')) * 1_000;
    expect(endsAt - NOON).toBe(1.5 * DAY_MS);
    expect(await readWhole(openLinkedImage(storage, asked, endsAt - 1))).toBeDefined();
    expect(await openLinkedImage(storage, asked, endsAt)).toBeUndefined();
  });

  it('a link that nobody made leads nowhere', async () => {
    await storeImage(storage, image);
    const link = new URL((await linkAt(NOON, 'https://gateway.example')) ?? '');
    const withParameter = (name: string, value: string) => {
      const other = new URL(link);
      other.searchParams.set(name, value);
      return other;
    };
    const later = String(Number(link.searchParams.get('expires')) + 1);
    for (const wrong of [
      withParameter('signature', '0'.repeat(64)),
      withParameter('signature', 'x'),
      withParameter('expires', later),
      withParameter('expires', 'never'),
      new URL(link.href.replace('/v1/images/', '/v1/videos/')),
      new URL(link.href.replace('shop', 'else')),
    ]) {
      expect([wrong.href, await openLinkedImage(storage, wrong, NOON)]).toEqual([wrong.href, undefined]);
    }
  });

  it('there are no links without a gateway, and none is followed before a worker has made one', async () => {
    expect(await linkAt(NOON)).toBeUndefined();
    const forged = new URL(
      `https://gateway.example${IMAGE_LINK_PATH}/shop/${image.sha256}.png?expires=99999999999&signature=${'0'.repeat(64)}`,
    );
    expect(await openLinkedImage(storage, forged, NOON)).toBeUndefined();
  });

  it('two workers that make the secret at the same moment make the same links', async () => {
    const link = await linkAt(NOON, 'https://gateway.example');
    let reads = 0;
    const late: VideoStorage = {
      ...storage,
      read: async (key) => (reads++ === 0 ? undefined : storage.read(key)),
    };
    expect(await linkToImage(late, image, 'https://gateway.example', NOON)).toBe(link);
  });

  it('a damaged secret is said, and not replaced', async () => {
    await storeImage(storage, image);
    await linkAt(NOON, 'https://gateway.example');
    await writeFile(join(folder, 'images/link-secret'), 'short');
    await expect(linkAt(NOON, 'https://gateway.example')).rejects.toThrow(
      'link-secret in the storage is damaged',
    );
  });
});
