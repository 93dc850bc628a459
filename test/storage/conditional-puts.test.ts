import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { createS3Storage, StorageUnusable, type VideoStorage } from '../../src/storage';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { failureOf } from '../support/world';
import { type S3Faults, type S3Proxy, startS3Proxy } from './s3-proxy';
import { store, VIDEO } from './storage-contract';

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
}, S3_SERVER_TIMEOUT_MS);
afterAll(() => server?.stop());

const proxies: S3Proxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

let prefix: string;
beforeEach(() => {
  prefix = `jobs-${randomUUID()}`;
});

async function behind(faults: S3Faults): Promise<VideoStorage> {
  const proxy = await startS3Proxy(server.connection.endpoint, faults);
  proxies.push(proxy);
  const connection = { ...server.connection, endpoint: proxy.endpoint };
  return createS3Storage({ bucket: server.bucket, prefix, ...connection });
}

/** A server that ignores If-None-Match in some calls. */
const ignoring = (overwrite: (call: string) => boolean): S3Faults => ({
  overwrite,
  remove: async (path) => {
    const Key = decodeURIComponent(path).replace(`/${server.bucket}/`, '');
    await server.client.send(new DeleteObjectCommand({ Bucket: server.bucket, Key }));
  },
});
const EVERYWHERE = ignoring(() => true);

async function everything(): Promise<unknown[]> {
  const listed = { Bucket: server.bucket, Prefix: `${prefix}/` };
  const { Contents = [] } = await server.client.send(new ListObjectsV2Command(listed));
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand(listed));
  return [...Contents, ...Uploads].map(({ Key }) => Key);
}

test('a probe accepts a server that honours If-None-Match, also for two workers at once, and leaves nothing', async () => {
  const storages = await Promise.all([behind({}), behind({})]);
  await Promise.all([...storages, ...storages].map((storage) => storage.probe?.()));
  expect(await everything()).toEqual([]);
});

test.each([
  ['every put', EVERYWHERE],
  ['a single put', ignoring((call) => /^PUT /.test(call))],
])(
  'a server that ignores If-None-Match in %s is refused with the fix, and gets no video',
  async (_, faults) => {
    const storage = await behind(faults);
    const failure = await failureOf(storage.probe?.() ?? Promise.resolve());
    expect(failure).toBeInstanceOf(StorageUnusable);
    expect(failure).toMatchObject({
      message: expect.stringMatching(
        /^The storage s3:\/\/videos\/jobs-\S+ at http:\S+ cannot be used: the server ignores If-None-Match, so one video could replace another\. Use a server that honours it, such as/,
      ),
    });
    await expect(store(storage, 'fox.mp4', VIDEO)).rejects.toThrow('ignores If-None-Match');
    await expect(storage.create('jobs/0001.json', '{}')).rejects.toThrow('ignores If-None-Match');
    expect(await everything()).toEqual([]);
  },
);

test('a bucket is accepted although the credentials may not delete', async () => {
  const storage = await behind({
    refuse: (call) => call.startsWith('DELETE ') && !call.includes('uploadId='),
  });
  await storage.probe?.();
});
