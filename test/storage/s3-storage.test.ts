import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {
  checkImage,
  createS3Storage,
  linkToImage,
  StorageFault,
  storeImage,
  type VideoStorage,
} from '../../src/storage';
import { PNG } from '../support/images';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { type S3Faults, type S3Proxy, startS3Proxy } from './s3-proxy';
import { itFulfilsTheContract, LONG_VIDEO, store, storedAt, VIDEO, VIDEO_IN_PARTS } from './storage-contract';

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
}, S3_SERVER_TIMEOUT_MS);
afterAll(() => server?.stop());

let prefix: string;
let storage: VideoStorage;
beforeEach(() => {
  prefix = `jobs-${randomUUID()}`;
  storage = createS3Storage({ bucket: server.bucket, prefix, ...server.connection });
});

async function uploadsThere(): Promise<string[]> {
  const { Uploads = [] } = await server.client.send(
    new ListMultipartUploadsCommand({ Bucket: server.bucket, Prefix: `${prefix}/` }),
  );
  return Uploads.map(({ Key }) => `${Key} on its way`);
}

async function everything(): Promise<string[]> {
  const { Contents = [] } = await server.client.send(
    new ListObjectsV2Command({ Bucket: server.bucket, Prefix: `${prefix}/` }),
  );
  const keys = Contents.map(({ Key = '' }) => posix.relative(prefix, Key));
  return [...keys, ...(await uploadsThere())];
}

test('a link reads an image without credentials, and is the same when it is made again', async () => {
  const image = checkImage(PNG, 'shop');
  await storeImage(storage, image);
  const link = (await linkToImage(storage, image, undefined)) ?? '';
  expect(await linkToImage(storage, image, undefined)).toBe(link);
  const answer = await fetch(link);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(PNG);
  expect((await fetch(link.replace('/shop/', '/press/'))).status).toBe(403);
  expect(await everything()).toEqual([`images/shop/${image.sha256}.png`]);
});

test('a link reads the video of a job, whole and in part, whatever its key', async () => {
  const { uri } = await store(storage, 'a fox+é/?.mp4', VIDEO);
  const validity = { from: new Date(), seconds: 60 };
  const link = (await storage.link?.(storage.keyOf?.(uri) ?? '', validity)) ?? '';
  const whole = await fetch(link);
  expect([whole.status, Buffer.from(await whole.arrayBuffer()).equals(VIDEO)]).toEqual([200, true]);
  const part = await fetch(link, { headers: { range: 'bytes=2-5' } });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, VIDEO.subarray(2, 6)]);
});

test('a link reads nothing once its time is over', async () => {
  await store(storage, 'fox.png', VIDEO);
  const from = new Date(Date.now() - 2 * 3_600_000);
  const link = (await storage.link?.('fox.png', { from, seconds: 3_600 })) ?? '';
  expect((await fetch(link)).status).toBe(403);
});

itFulfilsTheContract(async () => ({
  storage,
  everything,
  uriOf: (key) => `s3://${server.bucket}/${prefix}/${posix.normalize(key)}`,
  async leaveHalf(key) {
    const begin = new CreateMultipartUploadCommand({ Bucket: server.bucket, Key: `${prefix}/${key}` });
    const { Bucket, Key, UploadId } = await server.client.send(begin);
    await server.client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: VIDEO }));
  },
}));

it('a video and its sidecar have their content types', async () => {
  const typeOf = async (key: string) => {
    const object = { Bucket: server.bucket, Key: `${prefix}/${key}` };
    return (await server.client.send(new HeadObjectCommand(object))).ContentType;
  };
  await store(storage, 'fox.mp4', VIDEO);
  await store(storage, 'long.mp4', VIDEO_IN_PARTS);
  await storage.write('fox.json', '{}', 'application/json');
  expect(await typeOf('fox.mp4')).toBe('video/mp4');
  expect(await typeOf('long.mp4')).toBe('video/mp4');
  expect(await typeOf('fox.json')).toBe('application/json');
});

it('slashes around the prefix make no difference, and without one the key is the object key', async () => {
  const under = (other?: string) =>
    createS3Storage({ bucket: server.bucket, prefix: other, ...server.connection });
  await under(`/${prefix}/`).write('fox.txt', 'a fox', 'text/plain');
  expect(String(await storedAt(storage, 'fox.txt'))).toBe('a fox');
  for (const none of ['', '/', undefined])
    expect(await under(none).write(`${prefix}/fox.txt`, 'a fox', 'text/plain')).toEqual({
      uri: `s3://${server.bucket}/${prefix}/fox.txt`,
    });
  expect(await everything()).toEqual(['fox.txt']);
});

it('a probe accepts a server that honours If-None-Match, also for two workers at once, and leaves nothing', async () => {
  const other = createS3Storage({ bucket: server.bucket, prefix, ...server.connection });
  await Promise.all([storage.probe?.(), storage.probe?.(), other.probe?.()]);
  expect(await everything()).toEqual([]);
});

describe('a bucket that cannot be written', () => {
  const wrongly = (change: object) =>
    createS3Storage({ bucket: server.bucket, prefix, ...server.connection, ...change });
  const wrongKey = { accessKeyId: 'tester', secretAccessKey: 'wrong' };

  it.each([
    ['because it does not exist', () => wrongly({ bucket: 'no-such-bucket' }), 'NoSuchBucket: '],
    ['because the key is wrong', () => wrongly({ credentials: wrongKey }), 'SignatureDoesNotMatch: '],
    ['because no server answers', () => wrongly({ endpoint: 'http://127.0.0.1:1' }), 'ECONNREFUSED'],
  ])('%s throws a StorageFault from write and publish', async (_, make, message) => {
    const broken = make();
    for (const video of [VIDEO, LONG_VIDEO]) {
      const publishing = store(broken, 'fox.mp4', video);
      await expect(publishing).rejects.toThrow(StorageFault);
      await expect(publishing).rejects.toThrow(message);
    }
    for (const other of [() => broken.write('x', 'x', 'text/plain'), () => broken.read('x')]) {
      await expect(other()).rejects.toThrow(StorageFault);
    }
  });
});

describe('a bucket that refuses some calls', () => {
  let proxy: S3Proxy;
  afterEach(() => proxy.stop());

  async function behind(faults: S3Faults): Promise<VideoStorage> {
    const { endpoint } = server.connection;
    proxy = await startS3Proxy(endpoint, faults);
    const connection = { ...server.connection, endpoint: proxy.endpoint };
    return createS3Storage({ bucket: server.bucket, prefix, ...connection });
  }

  it('such as the second part of a video, stores nothing', async () => {
    const refusing = await behind({ refuse: (call) => call.includes('partNumber=2') });
    const storing = store(refusing, 'fox.mp4', Buffer.concat([LONG_VIDEO, LONG_VIDEO]));
    await expect(storing).rejects.toThrow(StorageFault);
    await expect(storing).rejects.toThrow('AccessDenied: not today');
    expect(await everything()).toEqual([]);
  });

  it('such as the completion of an upload, stores nothing of it', async () => {
    const refusing = await behind({ refuse: (call) => /^POST .*uploadId=/.test(call) });
    await expect(store(refusing, 'fox.mp4', VIDEO_IN_PARTS)).rejects.toThrow('AccessDenied: not today');
    expect(await everything()).toEqual([]);
  });

  it('such as reading, refuses a video whose key is taken, because it might be another', async () => {
    await store(storage, 'fox.mp4', VIDEO);
    const refusing = await behind({ refuse: (call) => call.startsWith('GET ') });
    await expect(store(refusing, 'fox.mp4', VIDEO)).rejects.toThrow(StorageFault);
  });

  it.each([
    ['short', VIDEO],
    ['long', VIDEO_IN_PARTS],
  ])('or loses its last answer still stores a %s video', async (_, video) => {
    const losing = await behind({ lose: (call) => /^POST .*uploadId=|^PUT .*x-id=PutObject/.test(call) });
    const { uri } = await store(losing, 'fox.mp4', video);
    expect(uri).toBe(`s3://${server.bucket}/${prefix}/fox.mp4`);
    expect(await everything()).toEqual(['fox.mp4']);
  });

  it.each([
    ['is still opening its upload', /^POST .*[?&]uploads/],
    ['has parts of it in flight', /^PUT .*partNumber=/],
  ])('or is slow stores nothing of a video whose upload is stopped while it %s', async (_, calls) => {
    let onDelay = () => {};
    const held = new Promise<void>((resolve) => {
      onDelay = resolve;
    });
    const slow = await behind({ delay: (call) => calls.test(call), onDelay: () => onDelay() });
    const stop = new AbortController();
    const storing = store(slow, 'fox.mp4', LONG_VIDEO, { signal: stop.signal });
    const stopped = expect(storing).rejects.toThrow(StorageFault);
    await held;
    stop.abort();
    await stopped;
    expect(await everything()).toEqual([]);
  });
});
