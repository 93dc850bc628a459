import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyLimits } from '../../src/gateway/gateway-keys';
import { storeForCaller } from '../../src/gateway/images';
import { REQUEST_MEMO } from '../../src/gateway/video-object';
import { checkImage, createFileStorage, storeImage } from '../../src/storage';
import { imageKey } from '../../src/storage/images';
import { PNG } from '../support/images';
import { filesIn } from '../support/stored-files';
import { closedGateway } from './closed-gateway';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-images-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const numbered = (index: number) => Buffer.concat([PNG, Buffer.from([index])]);

async function withGateway<T>(
  limits: KeyLimits,
  work: (post: (url: string, payload: Buffer | object) => Promise<number>) => Promise<T>,
): Promise<T> {
  const keys = { find: () => ({ name: 'shop', sha256: '', limits }) };
  const { app } = await closedGateway({ keys, storage: createFileStorage(folder) });
  try {
    return await work(async (url, payload) => {
      const type = Buffer.isBuffer(payload) ? 'image/png' : 'application/json';
      const headers = { authorization: 'Bearer key', 'content-type': type };
      const { statusCode } = await app.inject({ method: 'POST', url, headers, payload });
      return statusCode;
    });
  } finally {
    await app.close();
  }
}

test('a POST whose job is not counted stores no image', async () => {
  await withGateway({ jobsADay: 1 }, async (post) => {
    const image_url = `data:image/png;base64,${PNG.toString('base64')}`;
    expect(await post('/v1/videos/image-to-video', { prompt: 'A fox', image_url })).toBe(503);
  });
  expect(await filesIn(folder)).toEqual([]);
});

test('a key may have as many images as its line says, and one that it has already is none more', async () => {
  await withGateway({ images: 2 }, async (post) => {
    const statuses = [];
    for (const index of [1, 2, 3, 1]) statuses.push(await post('/v1/images', numbered(index)));
    expect(statuses).toEqual([200, 200, 429, 200]);
  });
});

test('images of a key go after a day, when it stores the next one, unless a job that runs has them', async () => {
  const storage = createFileStorage(folder);
  const store = async (index: number, owner: string, ageHours: number) => {
    const image = checkImage(numbered(index), owner);
    await storeImage(storage, image);
    const storedAt = Date.now() / 1_000 - ageHours * 3_600;
    utimesSync(join(folder, imageKey(image)), storedAt, storedAt);
    return image;
  };
  await store(1, 'shop', 25);
  const kept = [await store(2, 'shop', 23), await store(3, 'shop', 25), await store(4, '_cli', 25)];
  const queries: string[] = [];
  const client = {
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
    workflow: {
      async *list({ query }: { query: string }) {
        queries.push(query);
        yield { memo: {} };
        yield { memo: { [REQUEST_MEMO]: { image: kept[1]?.url } } };
      },
    },
  };
  const next = checkImage(numbered(5), 'shop');
  // Room for three: the old one that goes makes it.
  await storeForCaller({ client: client as never, storage }, next, { name: 'shop', limits: { images: 3 } });
  const files = (await filesIn(folder)).filter((name) => name.endsWith('.png'));
  expect(files.sort()).toEqual([...kept, next].map((image) => imageKey(image)).sort());
  expect(queries).toEqual([expect.stringMatching(/gateway-shop-.*CloseTime IS NULL/)]);
});
