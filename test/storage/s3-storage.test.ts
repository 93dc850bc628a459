import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { inspect } from 'node:util';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import {
  checkImage,
  createS3Storage,
  EntryLog,
  linkToImage,
  type S3StorageOptions,
  StorageFault,
  StorageUnusable,
  storeImage,
  type VideoStorage,
} from '../../src/storage';
import { PNG } from '../support/images';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import {
  type S3Answer,
  type S3Faults,
  type S3Proxy,
  type ScriptedS3,
  s3Error,
  startS3Proxy,
  startScriptedS3,
} from './scripted-s3';
import { itFulfilsTheContract, LONG_VIDEO, store, VIDEO, VIDEO_IN_PARTS } from './storage-contract';

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

describe('a bucket that cannot be written', () => {
  it.each<[string, Partial<S3StorageOptions>, string]>([
    ['because it does not exist', { bucket: 'no-such-bucket' }, 'NoSuchBucket: '],
    [
      'because the key is wrong',
      { credentials: { accessKeyId: 'tester', secretAccessKey: 'wrong' } },
      'SignatureDoesNotMatch: ',
    ],
    ['because no server answers', { endpoint: 'http://127.0.0.1:1' }, 'ECONNREFUSED'],
  ])('%s throws a StorageFault from every call', async (_, change, message) => {
    const broken = createS3Storage({ bucket: server.bucket, prefix, ...server.connection, ...change });
    for (const attempt of [
      () => store(broken, 'fox.mp4', VIDEO),
      () => store(broken, 'fox.mp4', VIDEO_IN_PARTS),
      () => broken.write('x', 'x', 'text/plain'),
      () => broken.read('x'),
    ]) {
      const trying = attempt();
      await expect(trying).rejects.toThrow(StorageFault);
      await expect(trying).rejects.toThrow(message);
    }
  });
});

describe('a bucket behind a proxy that spoils some calls', () => {
  let proxy: S3Proxy;
  afterEach(() => proxy.stop());

  async function behind(faults: S3Faults): Promise<VideoStorage> {
    const { endpoint } = server.connection;
    proxy = await startS3Proxy(endpoint, faults);
    const connection = { ...server.connection, endpoint: proxy.endpoint };
    return createS3Storage({ bucket: server.bucket, prefix, ...connection });
  }

  it('stores nothing of a video whose second part is refused', async () => {
    const refusing = await behind({ refuse: (call) => call.includes('partNumber=2') });
    const storing = store(refusing, 'fox.mp4', LONG_VIDEO);
    await expect(storing).rejects.toThrow(StorageFault);
    await expect(storing).rejects.toThrow('AccessDenied: not today');
    expect(await everything()).toEqual([]);
  });

  it('refuses a video whose key is taken by a file that cannot be read, because it might be another', async () => {
    await store(storage, 'fox.mp4', VIDEO);
    const refusing = await behind({ refuse: (call) => call.startsWith('GET ') });
    await expect(store(refusing, 'fox.mp4', VIDEO)).rejects.toThrow(StorageFault);
  });

  it.each([
    ['short', VIDEO],
    ['long', VIDEO_IN_PARTS],
  ])('stores a %s video although the last answer is lost', async (_, video) => {
    const losing = await behind({ lose: (call) => /^POST .*uploadId=|^PUT .*x-id=PutObject/.test(call) });
    const { uri } = await store(losing, 'fox.mp4', video);
    expect(uri).toBe(`s3://${server.bucket}/${prefix}/fox.mp4`);
    expect(await everything()).toEqual(['fox.mp4']);
  });

  it('appends an entry to a log although the answer is lost and the SDK repeats the call', async () => {
    let isLost = false;
    const lose = (call: string) => {
      const isFirst = !isLost && call.startsWith('PUT ');
      isLost ||= isFirst;
      return isFirst;
    };
    const losing = await behind({ lose });
    const create = jest.fn(losing.create);
    const log = new EntryLog({ ...losing, create }, 'jobs/fox/', (value) => Object(value));
    const entry = { id: 'own' };
    expect(await log.append(entry, [])).toMatchObject({ appended: true, entries: [entry] });
    // Refused because of the entry itself.
    expect(await create.mock.results[0]?.value).toBe(false);
  });

  it('stores nothing of a video whose upload is stopped while parts of it are in flight', async () => {
    let onDelay = () => {};
    const held = new Promise<void>((resolve) => {
      onDelay = resolve;
    });
    const delay = (call: string) => /^PUT .*partNumber=/.test(call);
    const slow = await behind({ delay, onDelay: () => onDelay() });
    const stop = new AbortController();
    const storing = store(slow, 'fox.mp4', LONG_VIDEO, { signal: stop.signal });
    const stopped = expect(storing).rejects.toThrow(StorageFault);
    await held;
    stop.abort();
    await stopped;
    expect(await everything()).toEqual([]);
  });
});

let scripted: ScriptedS3;
afterEach(() => scripted?.stop());

const withoutOperation = (call: string) => call.replace(/[?&]x-id=\w+/, '');
const callsOf = (method: string) =>
  scripted.calls.filter((call) => call.startsWith(`${method} `)).map(withoutOperation);

/** A server that gives the first of these answers whose pattern matches, and an empty 200 to other calls. */
const answers = (...rules: [RegExp, S3Answer][]) =>
  startScriptedS3((call) => rules.find(([pattern]) => pattern.test(call))?.[1]);

test('the address of a video has a key in the folder of the settings, and nothing that would be another object has one', () => {
  const keyOf = (uri: string, prefix?: string) =>
    createS3Storage({ bucket: 'videos', region: 'us-east-1', prefix }).keyOf?.(uri);
  expect(keyOf('s3://videos/a/fox.mp4')).toBe('a/fox.mp4');
  expect(keyOf('s3://videos/jobs/a/fox..mp4', 'jobs')).toBe('a/fox..mp4');
  expect(keyOf('s3://videos/jobs/2026/fox.mp4', '//jobs/2026//')).toBe('fox.mp4');
  for (const key of ['a/../fox.mp4', '../fox.mp4', 'a//fox.mp4', './fox.mp4', ''])
    expect([key, keyOf(`s3://videos/jobs/${key}`, 'jobs')]).toEqual([key, undefined]);
  for (const uri of ['s3://videos/others/fox.mp4', 's3://films/jobs/fox.mp4', 'fox.mp4'])
    expect([uri, keyOf(uri, 'jobs')]).toEqual([uri, undefined]);
  expect(keyOf('s3://videos/../fox.mp4')).toBeUndefined();
  expect(keyOf('s3://videos/')).toBeUndefined();
});

test('a video leaves no upload behind when the server refuses to complete it', async () => {
  const created = '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>';
  scripted = await answers(
    [/^POST .*[?&]uploads/, { body: created }],
    [/^PUT .*partNumber=/, { headers: { etag: '"e"' } }],
    [/^POST .*uploadId=7/, s3Error(412, 'PreconditionFailed')],
    [/^GET /, s3Error(404, 'NoSuchKey')],
  );
  await expect(store(scripted.storage(), 'fox.mp4', VIDEO_IN_PARTS)).rejects.toThrow('PreconditionFailed');
  expect(callsOf('DELETE')).toContain('DELETE /videos/fox.mp4?uploadId=7');
});

test('a small file that cannot be created, because the server answers 409, is a fault', async () => {
  scripted = await startScriptedS3(() => s3Error(409, 'ConditionalRequestConflict'));
  const creating = scripted.storage().create('jobs/0001.json', '{}');
  await expect(creating).rejects.toThrow('ConditionalRequestConflict');
  expect(scripted.calls).toHaveLength(1);
});

test('an object that somebody else has just removed counts as removed', async () => {
  scripted = await answers([/gone/, s3Error(404, 'NoSuchKey')], [/denied/, s3Error(403, 'AccessDenied')]);
  const storage = scripted.storage({ prefix: 'jobs' });
  await storage.removeKey?.('gone.mp4');
  expect(scripted.calls.map(withoutOperation)).toEqual(['DELETE /videos/jobs/gone.mp4']);
  await expect(storage.removeKey?.('denied.mp4')).rejects.toThrow(StorageFault);
});

test('a list has the keys of every page', async () => {
  const page = (keys: string[], next = ''): S3Answer => ({
    body: `<ListBucketResult>${keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}${next}</ListBucketResult>`,
  });
  const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>';
  scripted = await startScriptedS3((call) =>
    call.includes('continuation-token=more')
      ? page(['jobs/a.3'])
      : page(['jobs/a.0', 'jobs/a.1', 'jobs/a.2'], more),
  );
  const files: unknown[] = [];
  for await (const file of scripted.storage({ prefix: 'jobs' }).list?.('a.') ?? []) files.push(file);
  const keys = ['a.0', 'a.1', 'a.2', 'a.3'];
  expect(files).toEqual(keys.map((key) => ({ key, storedAt: new Date(0) })));
  expect(scripted.calls).toHaveLength(2);
});

describe('a probe', () => {
  test('accepts an honest server, and leaves nothing', async () => {
    await storage.probe?.();
    expect(await everything()).toEqual([]);
  });

  test('refuses a server that ignores If-None-Match, which then gets no video and no record', async () => {
    scripted = await answers([/^GET /, s3Error(404, 'NoSuchKey')]);
    const careless = scripted.storage();
    const probing = careless.probe?.();
    await expect(probing).rejects.toThrow(StorageUnusable);
    await expect(probing).rejects.toThrow(
      /^The storage s3:\/\/videos at http:\S+ cannot be used: the server ignores If-None-Match, so one video could replace another\. Use a server that honours it/,
    );
    const puts = callsOf('PUT').length;
    await expect(store(careless, 'fox.mp4', VIDEO)).rejects.toThrow('ignores If-None-Match');
    await expect(careless.create('jobs/0001.json', '{}')).rejects.toThrow('ignores If-None-Match');
    expect(callsOf('PUT')).toHaveLength(puts);
  });

  test.each([
    ['NoSuchBucket', 'Create the bucket'],
    ['AuthorizationHeaderMalformed', 'Set AWS_REGION'],
    ['AccessDenied', 's3:ListBucket'],
    ['InvalidAccessKeyId', 'Set AWS_ACCESS_KEY_ID'],
    ['NotImplemented', 'Use a server that honours it'],
  ])('of a bucket that says %s says how to fix that', async (code, fix) => {
    scripted = await startScriptedS3(() => s3Error(403, code));
    await expect(scripted.storage().probe?.()).rejects.toThrow(fix);
  });
});

test('without a package of the AWS SDK, the error says what to install', async () => {
  const missing = '@aws-sdk/lib-storage';
  jest.doMock(missing, () => {
    throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
  });
  try {
    const said = await createS3Storage({ bucket: 'videos' }).probe?.().catch(String);
    expect(said).toContain(
      'the AWS SDK, which stores videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner`',
    );
    expect(said).toContain('Install it where videogen is installed');
  } finally {
    jest.dontMock(missing);
  }
});

test('256 videos that nobody reads keep neither records nor each other waiting', async () => {
  scripted = await answers([/fox\.mp4/, { body: 'x'.repeat(300 * 1024) }]);
  const storage = scripted.storage();
  const unread = await Promise.all(Array.from({ length: 256 }, () => storage.read('fox.mp4')));
  await storage.write('record.json', '{}', 'application/json');
  for (const stream of unread) stream?.destroy();
});

test('a write that the server never answers ends by itself after a minute', async () => {
  let onAsked = () => {};
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  scripted = await startScriptedS3(() => {
    onAsked();
    return { isNever: true };
  });
  const limit = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  try {
    const ended = expect(scripted.storage().write('a', 'b', 'text/plain')).rejects.toThrow(StorageFault);
    await asked;
    expect(timeout.mock.calls).toEqual([[60_000]]);
    limit.abort();
    await ended;
  } finally {
    timeout.mockRestore();
  }
});

test('the error of a server that quotes the credentials is redacted', async () => {
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE000000001',
    secretAccessKey: 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY',
    sessionToken: 'FwoGZXIvYXdzEBYaDExampleSessionToken0123456789',
  };
  scripted = await startScriptedS3((call) => {
    const token = scripted.headersOf(call)['x-amz-security-token'];
    const quoted = `${token} of ${credentials.accessKeyId}, ${credentials.secretAccessKey}`;
    return s3Error(403, 'AccessDenied', `no, ${quoted}`, `<Token>${quoted}</Token>`);
  });
  const storage = scripted.storage({ credentials: { ...credentials } });
  const error: unknown = await storage.write('a', 'b', 'text/plain').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: expect.stringContaining('AccessDenied: no, …') });
  const all = inspect(error, { depth: 10, showHidden: true });
  for (const secret of Object.values(credentials)) expect(all).not.toContain(secret);
});
