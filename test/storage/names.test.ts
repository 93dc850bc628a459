import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  BadImage,
  checkImage,
  createFileStorage,
  digestOfJob,
  fileName,
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
import { type JobEntry, recordedJob } from '../../src/storage/job-record';
import { DEFAULT_KEY_TEMPLATE, storageKey } from '../../src/storage/storage-key';
import { GIF, HTML, JPEG, LARGEST_PNG, PNG, SVG, sha256Of, TOO_LARGE_PNG, WEBP } from '../support/images';

// A worker of the next version must find the task of a submit that one of this version lost.
test('what identifies a job is the same in every version, in whatever order its request has its fields', () => {
  const fox = { namespace: 'default', job: 'fox' };
  const material = '["default","fox",[["duration",5],["prompt","A red fox"],["seed",7]]]';
  const digest = createHash('sha256').update(material).digest('hex');
  expect(digestOfJob(fox, { prompt: 'A red fox', duration: 5, seed: 7 })).toBe(digest);
  expect(digestOfJob(fox, { seed: 7, duration: 5, prompt: 'A red fox' })).toBe(digest);
});

test('an id is one file name, not that of a hidden file, and a long one is cut to the same name in every version', () => {
  for (const id of ['.', '..', '.hidden', 'fox.v1', '../a/b.c', 'a\\b', 'é 🦊', '%2F', 'a$&b', '{ext}']) {
    const name = fileName(id);
    expect(name).toMatch(/^[^./\\][^/\\]*$/);
    expect(decodeURIComponent(name)).toBe(id);
    expect(name.slice(1).includes('.')).toBe(id.slice(1).includes('.'));
  }
  expect(fileName('x'.repeat(200))).toBe('x'.repeat(200));
  expect(fileName('x'.repeat(201))).toBe(`${'x'.repeat(167)}-84a0678c90937f5dcf9994d5866668da`);
  expect(fileName(`${'x'.repeat(200)}y`)).not.toBe(fileName('x'.repeat(201)));
});

describe('the key of a video', () => {
  const parts = {
    workflowId: 'job/1',
    taskId: 'task 1',
    startedAtMs: Date.parse('2026-11-15T23:59:59.999Z'),
    extension: 'webm',
  };
  const key = (jobKey?: string, template = DEFAULT_KEY_TEMPLATE) => storageKey(jobKey, template, parts);

  test.each([
    ['that of the job', 'foxes/red', undefined, 'foxes/red'],
    ['that of the job, with the extension of the video', 'foxes/red.{ext}', undefined, 'foxes/red.webm'],
    ['its prefix and the template of the worker', 'foxes/', '{date}.{ext}', 'foxes/2026-11-15.webm'],
    ['a prefix that is a template', '{date}/{taskId}/', undefined, '2026-11-15/task%201/job%2F1.webm'],
    ['the template', undefined, '{date}/{workflowId}/v.{ext}', '2026-11-15/job%2F1/v.webm'],
  ])('is %s', (_what, jobKey, template, expected) => {
    expect(key(jobKey, template)).toBe(expected);
  });

  test('has parts of at most 240 bytes; a longer one is cut between two characters and keeps its extension', () => {
    const longest = `${'狐'.repeat(78)}ab.mp4`;
    expect(Buffer.byteLength(longest)).toBe(240);
    expect(key(longest)).toBe(longest);
    expect(key(`x${longest}`)).toMatch(/^x狐+-[0-9a-f]{32}\.mp4$/);
    expect(key('x'.repeat(300))).toMatch(/^x+-[0-9a-f]{32}$/);
    expect(key(`a.mp4 ${'x'.repeat(300)}`)).toMatch(/^a\.mp4 x+-[0-9a-f]{32}$/);
    expect(key(`a\ufffd${'狐'.repeat(100)}.mp4`)).toMatch(/^a\ufffd狐{66}-[0-9a-f]{32}\.mp4$/);
  });
});

describe('an image', () => {
  let folder: string;
  let storage: VideoStorage;
  const image = checkImage(PNG, 'shop');
  const GATEWAY = 'https://gateway.example';
  const NOON = Date.UTC(2026, 10, 16, 12);
  const DAY_MS = 24 * 3_600_000;
  const linkAt = (nowMs: number, gatewayUrl?: string) => linkToImage(storage, image, gatewayUrl, nowMs);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'videogen-images-'));
    storage = createFileStorage(folder);
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function readWhole(opening: ReturnType<typeof openImage>) {
    const { content, bytes: length, contentType } = (await opening) ?? {};
    if (content === undefined) return undefined;
    const bytes = await buffer(content);
    expect(length).toBe(bytes.length);
    return { bytes, contentType };
  }

  it('is known by its bytes, and named by its owner and its bytes', () => {
    for (const [extension, bytes] of Object.entries({ png: PNG, jpg: JPEG, webp: WEBP, gif: GIF })) {
      const contentType = IMAGE_TYPES[extension as keyof typeof IMAGE_TYPES];
      const name = `web_shop/${sha256Of(bytes)}.${extension}`;
      const reference = { name, owner: 'web_shop', sha256: sha256Of(bytes), contentType };
      const checked = checkImage(bytes, 'web_shop');
      expect(checked).toEqual({ ...reference, url: `videogen-image:${name}`, bytes });
      expect(parseImageReference(checked.url)).toEqual(reference);
      expect(imageKey(checked)).toBe(`images/${name}`);
    }
  });

  it('is nothing else, and has at most 20 MB', () => {
    const otherChunk = Buffer.from(PNG);
    otherChunk.write('IDAT', 12);
    const otherWebp = Buffer.from(WEBP);
    otherWebp.write('9', 15);
    for (const bytes of [HTML, SVG, Buffer.alloc(0), otherChunk, otherWebp]) {
      expect(() => checkImage(bytes, 'shop')).toThrow(BadImage);
      expect(() => checkImage(bytes, 'shop')).toThrow('is not a PNG, JPEG, WebP or GIF image');
    }
    expect(checkImage(LARGEST_PNG(), 'shop').contentType).toBe('image/png');
    expect(() => checkImage(TOO_LARGE_PNG(), 'shop')).toThrow(
      expect.objectContaining({ reason: 'too-large', message: 'is larger than 20 MB' }),
    );
  });

  it('is meant only by a reference of exactly our form', () => {
    const { sha256 } = image;
    for (const url of [
      `shop/${sha256}.png`,
      `https:shop/${sha256}.png`,
      `VIDEOGEN-IMAGE:shop/${sha256}.png`,
      `shop/${sha256}.png videogen-image:`,
      ...['svg', 'PNG', 'png?size=2'].map((end) => `videogen-image:shop/${sha256}.${end}`),
      `videogen-image:shop/${sha256.slice(1)}.png`,
      `videogen-image:../${sha256}.png`,
      `videogen-image:/shop/${sha256}.png`,
      'videogen-image:',
    ])
      expect([url, parseImageReference(url)]).toEqual([url, undefined]);
  });

  it('is stored once and read whole, and a file with other bytes is not the image of its name', async () => {
    expect(await hasImage(storage, image)).toBe(false);
    expect(await openImage(storage, image)).toBeUndefined();
    await Promise.all([storeImage(storage, image), storeImage(storage, image)]);
    expect(await hasImage(storage, image)).toBe(true);
    expect(await readWhole(openImage(storage, image))).toEqual({ bytes: PNG, contentType: 'image/png' });
    await writeFile(join(folder, imageKey(image)), GIF);
    expect(await openImage(storage, image)).toBeUndefined();
  });

  it('has a link that leads to it for one to two days, and is the same all day', async () => {
    await storeImage(storage, image);
    const link = await linkAt(NOON, `${GATEWAY}/base///`);
    expect(link).toMatch(/^https:\/\/gateway\.example\/base\/v1\/images\//);
    expect(await linkAt(NOON + 11 * 3_600_000, `${GATEWAY}/base`)).toBe(link);
    expect(await linkAt(NOON + DAY_MS, `${GATEWAY}/base`)).not.toBe(link);
    const asked = new URL((link ?? '').replace('/base', ''));
    expect(asked.pathname.startsWith(`${IMAGE_LINK_PATH}/`)).toBe(true);
    const found = await readWhole(openLinkedImage(storage, asked, NOON));
    expect(found).toEqual({ bytes: PNG, contentType: 'image/png' });
    const endsAt = Number(asked.searchParams.get('expires')) * 1_000;
    expect(endsAt - NOON).toBe(1.5 * DAY_MS);
    expect(await readWhole(openLinkedImage(storage, asked, endsAt - 1))).toBeDefined();
    expect(await openLinkedImage(storage, asked, endsAt)).toBeUndefined();
  });

  it('is not found by a link that nobody made', async () => {
    await storeImage(storage, image);
    const forged = `${GATEWAY}${IMAGE_LINK_PATH}/shop/${image.sha256}.png?expires=99999999999&signature=${'0'.repeat(64)}`;
    expect(await openLinkedImage(storage, new URL(forged), NOON)).toBeUndefined();
    const link = new URL((await linkAt(NOON, GATEWAY)) ?? '');
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

  it('has the same link when two workers make the secret at the same moment, and none without a gateway', async () => {
    expect(await linkAt(NOON)).toBeUndefined();
    const link = await linkAt(NOON, GATEWAY);
    let reads = 0;
    const late: VideoStorage = {
      ...storage,
      read: async (key) => (reads++ === 0 ? undefined : storage.read(key)),
    };
    expect(await linkToImage(late, image, GATEWAY, NOON)).toBe(link);
  });

  it('has no link while the secret is damaged, which is not replaced', async () => {
    await linkAt(NOON, GATEWAY);
    for (const damaged of ['short', `${'a'.repeat(64)}\n${'b'.repeat(64)}`]) {
      await writeFile(join(folder, 'images/link-secret'), damaged);
      await expect(linkAt(NOON, GATEWAY)).rejects.toThrow('link-secret in the storage is damaged');
    }
  });
});

test('a job may have paid for each send that was not refused', () => {
  const common = { at: '2026-01-01T00:00:00.000Z', namespace: 'default', job: 'fox' };
  const entries: JobEntry[] = [
    { ...common, id: 'first', event: 'sending', request: {} },
    { ...common, id: 'no', event: 'refused', send: 'first', outcome: 'refused' },
    { ...common, id: 'lost', event: 'sending', request: {} },
    { ...common, id: 'last', event: 'sending', request: {}, repeats: ['lost'] },
    { ...common, id: 'task', event: 'task', send: 'last', taskId: 'task_1' },
  ];
  const idsOf = (some: JobEntry[]) => some.map(({ id }) => id);
  const { paidSends, openSends, ...all } = recordedJob(entries);
  expect([idsOf(paidSends), openSends]).toEqual([['lost', 'last'], []]);
  expect(all).toMatchObject({ task: entries[4], lastSend: entries[3], keySent: true, mayHavePaid: true });
  const lost = recordedJob(entries.slice(0, 3));
  expect([idsOf(lost.openSends), lost.mayHaveTask, lost.mayHavePaid]).toEqual([['lost'], false, true]);
  expect([recordedJob(entries.slice(0, 4)).mayHaveTask, lost.task, lost.stored]).toEqual([
    true,
    undefined,
    undefined,
  ]);
  expect(recordedJob(entries.slice(0, 2))).toMatchObject({
    keySent: true,
    mayHavePaid: false,
    openSends: [],
  });
});
