import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import {
  checkImage,
  createS3Storage,
  readStoredVideo,
  type S3StorageOptions,
  StorageFault,
  StorageUnusable,
  storeImage,
  type VideoStorage,
} from '../../src/storage';
import { PNG } from '../support/images';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';
import { LONG_VIDEO, store, VIDEO, VIDEO_IN_PARTS } from './storage-contract';

let server: ScriptedS3;
afterEach(() => server?.stop());

const FOX = VIDEO.subarray(0, 1_000);
const withoutOperation = (call: string) => call.replace(/[?&]x-id=\w+/, '');
const callsOf = (method: string) =>
  server.calls.filter((call) => call.startsWith(`${method} `)).map(withoutOperation);

/** A server that gives the first of these answers whose pattern matches, and an empty 200 to other calls. */
const answers = (...rules: [RegExp, S3Answer][]) =>
  startScriptedS3((call) => rules.find(([pattern]) => pattern.test(call))?.[1]);

describe('the video that a job names', () => {
  const here = (options: Partial<S3StorageOptions>) =>
    createS3Storage({ bucket: 'videos', region: 'us-east-1', ...options });

  test('has a key in the folder of the settings, and nothing that would be another object has one', () => {
    const keyOf = (uri: string, prefix?: string) => here({ prefix }).keyOf?.(uri);
    expect(keyOf('s3://videos/a/fox.mp4')).toBe('a/fox.mp4');
    expect(keyOf('s3://videos/jobs/a/fox..mp4', 'jobs')).toBe('a/fox..mp4');
    expect(keyOf('s3://videos/jobs/2026/fox.mp4', '//jobs/2026//')).toBe('fox.mp4');
    for (const key of ['a/../fox.mp4', '../fox.mp4', 'a//fox.mp4', './fox.mp4', ''])
      expect([key, keyOf(`s3://videos/jobs/${key}`, 'jobs')]).toEqual([key, undefined]);
    for (const uri of ['s3://videos/others/fox.mp4', 's3://videos/', 's3://films/jobs/fox.mp4', 'fox.mp4'])
      expect([uri, keyOf(uri, 'jobs')]).toEqual([uri, undefined]);
    expect(keyOf('s3://videos/../fox.mp4')).toBeUndefined();
    expect(keyOf('s3://videos/')).toBeUndefined();
  });

  test('is read whole or in part, and nothing of others is', async () => {
    server = await startScriptedS3(() => ({ body: 'a fox' }));
    const storage = server.storage({ prefix: 'jobs' });
    expect(await readStoredVideo(storage, 's3://videos/others/fox.mp4')).toBeUndefined();
    expect(server.calls).toEqual([]);
    const whole = await readStoredVideo(storage, 's3://videos/jobs/fox.mp4');
    expect(whole && (await text(whole))).toBe('a fox');
    expect(server.headersOf('fox.mp4').range).toBeUndefined();
    const part = await readStoredVideo(storage, 's3://videos/jobs/owl.mp4', { start: 2, end: 5 });
    part?.destroy();
    expect(server.headersOf('owl.mp4').range).toBe('bytes=2-5');
  });

  test.each([
    [undefined, true, 'https://s3.eu-central-1.amazonaws.com/videos/jobs/a%20fox.mp4?'],
    [undefined, undefined, 'https://videos.s3.eu-central-1.amazonaws.com/jobs/a%20fox.mp4?'],
    ['http://127.0.0.1:1', true, 'http://127.0.0.1:1/videos/jobs/a%20fox.mp4?'],
  ])(
    'has a link with the address that the client would call, made without a call: %s',
    async (endpoint, pathStyle, start) => {
      const credentials = { accessKeyId: 'tester', secretAccessKey: 'short' };
      const storage = here({ region: 'eu-central-1', prefix: 'jobs', credentials, endpoint, pathStyle });
      const validity = { from: new Date(Date.UTC(2026, 10, 16)), seconds: 60 };
      const link = new URL((await storage.link?.('a fox.mp4', validity)) ?? '');
      expect(link.href.startsWith(start)).toBe(true);
      const { searchParams } = link;
      expect(searchParams.get('X-Amz-Date')).toBe('20261116T000000Z');
      expect(searchParams.get('X-Amz-Expires')).toBe('60');
      // Services that follow the link send no other header.
      expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host');
    },
  );
});

describe('a video that is stored', () => {
  const TAKEN: [RegExp, S3Answer] = [/^PUT /, s3Error(412, 'PreconditionFailed')];

  test('goes to the server only if its key is free', async () => {
    server = await answers();
    expect(await store(server.storage(), 'fox.mp4', FOX)).toEqual({ uri: 's3://videos/fox.mp4' });
    expect(server.headersOf('PUT ')).toMatchObject({ 'content-type': 'video/mp4', 'if-none-match': '*' });
    expect(server.calls).toHaveLength(1);
  });

  test.each<[string, Record<string, string>]>([
    ['', { 'content-length': '5' }],
    [', also by a server that does not say how long it is', {}],
  ])('was there when the server refuses it and has the same one%s', async (_, headers) => {
    server = await answers(TAKEN, [/^GET /, { headers, body: 'a fox' }]);
    expect(await store(server.storage(), 'fox.mp4', Buffer.from('a fox'))).toEqual({
      uri: 's3://videos/fox.mp4',
    });
  });

  test('is refused for another one, once and for all', async () => {
    server = await answers(TAKEN, [/^GET /, { body: 'an owl' }]);
    await expect(store(server.storage(), 'fox.mp4', FOX)).rejects.toMatchObject({
      message: expect.stringContaining('the key "fox.mp4" is taken by another file'),
      isFinal: true,
    });
  });

  test('fails with what the server said when it is not there afterwards', async () => {
    server = await answers([/^PUT /, s3Error(403, 'AccessDenied')], [/^GET /, s3Error(404, 'NoSuchKey')]);
    await expect(store(server.storage(), 'fox.mp4', FOX)).rejects.toThrow('AccessDenied');
  });

  test('leaves no upload behind when the server refuses to complete it', async () => {
    const created = '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>';
    server = await answers(
      [/^POST .*[?&]uploads/, { body: created }],
      [/^PUT .*partNumber=/, { headers: { etag: '"e"' } }],
      [/^POST .*uploadId=7/, s3Error(412, 'PreconditionFailed')],
      [/^GET /, s3Error(404, 'NoSuchKey')],
    );
    await expect(store(server.storage(), 'fox.mp4', VIDEO_IN_PARTS)).rejects.toThrow('PreconditionFailed');
    expect(callsOf('DELETE')).toContain('DELETE /videos/fox.mp4?uploadId=7');
  });

  test('whose upload the server refuses fails, and does not end the process', async () => {
    server = await answers([/./, s3Error(403, 'AccessDenied')]);
    await expect(store(server.storage(), 'fox.mp4', LONG_VIDEO)).rejects.toMatchObject({
      name: 'StorageFault',
      message: expect.stringContaining('AccessDenied'),
    });
  });

  test('may be an image, with its content type', async () => {
    server = await startScriptedS3();
    const image = checkImage(PNG, 'shop');
    await storeImage(server.storage(), image);
    expect(callsOf('PUT')).toEqual([`PUT /videos/images/shop/${image.sha256}.png`]);
    expect(server.headersOf('PUT ')['content-type']).toBe('image/png');
  });
});

test('a small file is created as JSON, if its key is free', async () => {
  server = await startScriptedS3();
  expect(await server.storage().create('jobs/0001.json', '{}')).toBe(true);
  expect(server.calls.map(withoutOperation)).toEqual(['PUT /videos/jobs/0001.json']);
  expect(server.headersOf('0001.json')).toMatchObject({
    'if-none-match': '*',
    'content-type': 'application/json',
  });
});

test.each([
  [409, 'ConditionalRequestConflict'],
  [501, 'NotImplemented'],
])('a small file that cannot be created, because the server answers %d, is a fault', async (status, code) => {
  server = await startScriptedS3(() => s3Error(status, code));
  await expect(server.storage().create('jobs/0001.json', '{}')).rejects.toThrow(code);
  expect(server.calls).toHaveLength(1);
});

test('an object that somebody else has just removed counts as removed', async () => {
  server = await answers([/gone/, s3Error(404, 'NoSuchKey')], [/denied/, s3Error(403, 'AccessDenied')]);
  const storage = server.storage({ prefix: 'jobs' });
  await storage.removeKey?.('gone.mp4');
  expect(server.calls.map(withoutOperation)).toEqual(['DELETE /videos/jobs/gone.mp4']);
  await expect(storage.removeKey?.('denied.mp4')).rejects.toThrow(StorageFault);
});

describe('a list', () => {
  const object = (key: string, more = '') => `<Contents><Key>${key}</Key>${more}</Contents>`;
  const objects = (content: string, next = ''): S3Answer => ({
    body: `<ListBucketResult>${content}${next && `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`,
  });
  const listed = async (prefix: string, options: { prefix?: string }) => {
    const files: unknown[] = [];
    for await (const file of server.storage(options).list?.(prefix) ?? []) files.push(file);
    return files;
  };

  test('has the keys of every page', async () => {
    server = await startScriptedS3((call) =>
      call.includes('continuation-token=more')
        ? objects(object('jobs/a.3'))
        : objects(['jobs/a.0', 'jobs/a.1', 'jobs/a.2'].map((key) => object(key)).join(''), 'more'),
    );
    const keys = ['a.0', 'a.1', 'a.2', 'a.3'];
    expect(await listed('a.', { prefix: 'jobs' })).toEqual(
      keys.map((key) => ({ key, storedAt: new Date(0) })),
    );
    expect(server.calls).toHaveLength(2);
  });

  test('has the whole keys of a bucket without a prefix, and skips what has none', async () => {
    const dated = object('a', '<LastModified>2026-11-16T12:00:00Z</LastModified>');
    server = await startScriptedS3(() => objects(`<Contents><Size>1</Size></Contents>${dated}`));
    expect(await listed('', {})).toEqual([{ key: 'a', storedAt: new Date(Date.UTC(2026, 10, 16, 12)) }]);
    expect(server.calls).toEqual([expect.stringMatching(/prefix=(&|$)/)]);
  });

  test('that the server refuses is a fault', async () => {
    server = await startScriptedS3(() => s3Error(403, 'AccessDenied'));
    await expect(listed('', {})).rejects.toThrow(StorageFault);
  });
});

describe('a probe', () => {
  /** A bucket in memory that honours If-None-Match for puts, or not. */
  const bucket = ({ isHonest = true } = {}) => {
    const objects = new Map<string, string>();
    return (call: string): S3Answer => {
      const [method = '', path = ''] = call.split(/[ ?]/);
      if (method === 'GET') {
        const body = objects.get(path);
        return body === undefined ? s3Error(404, 'NoSuchKey') : { body };
      }
      if (method === 'DELETE') {
        objects.delete(path);
        return { status: 204 };
      }
      const isConditional = server.headersOf(call)['if-none-match'] === '*';
      if (isConditional && isHonest && objects.has(path)) return s3Error(412, 'PreconditionFailed');
      objects.set(path, path.split('/').at(-1) ?? '');
      return {};
    };
  };

  test('accepts an honest server, and leaves nothing', async () => {
    server = await startScriptedS3(bucket());
    await server.storage({ prefix: 'jobs' }).probe?.();
    // A file, the same key again, and the file replaced.
    expect(callsOf('PUT')).toHaveLength(3);
    expect(callsOf('DELETE')).toEqual([expect.stringMatching(/^DELETE \/videos\/jobs\/\.videogen-probe-/)]);
  });

  test('accepts credentials that may not delete', async () => {
    const answerTo = bucket();
    server = await startScriptedS3((call) =>
      call.startsWith('DELETE ') ? s3Error(403, 'AccessDenied') : answerTo(call),
    );
    await server.storage().probe?.();
  });

  test('refuses a server that ignores If-None-Match, which then gets no video and no record', async () => {
    server = await startScriptedS3(bucket({ isHonest: false }));
    const storage = server.storage();
    const probing = storage.probe?.();
    await expect(probing).rejects.toThrow(StorageUnusable);
    await expect(probing).rejects.toThrow(
      /^The storage s3:\/\/videos at http:\S+ cannot be used: the server ignores If-None-Match, so one video could replace another\. Use a server that honours it/,
    );
    const puts = callsOf('PUT').length;
    await expect(store(storage, 'fox.mp4', VIDEO)).rejects.toThrow('ignores If-None-Match');
    await expect(storage.create('jobs/0001.json', '{}')).rejects.toThrow('ignores If-None-Match');
    expect(callsOf('PUT')).toHaveLength(puts);
  });

  test('does not forget that a server ignores it when a later probe fails for another reason', async () => {
    const answerTo = bucket({ isHonest: false });
    let isClosed = false;
    server = await startScriptedS3((call) => (isClosed ? s3Error(403, 'AccessDenied') : answerTo(call)));
    const storage = server.storage();
    await expect(storage.probe?.()).rejects.toThrow('ignores If-None-Match');
    isClosed = true;
    await expect(storage.probe?.()).rejects.toThrow('AccessDenied');
    isClosed = false;
    await expect(storage.create('jobs/0001.json', '{}')).rejects.toThrow('ignores If-None-Match');
  });

  test('tells what a server says that refuses conditional puts for another reason', async () => {
    const answerTo = bucket();
    server = await startScriptedS3((call) =>
      server.headersOf(call)['if-none-match'] === '*' ? s3Error(403, 'AccessDenied') : answerTo(call),
    );
    await expect(server.storage().probe?.()).rejects.toThrow('AccessDenied');
  });

  test.each([
    ['NoSuchBucket', 'Create the bucket'],
    ['AuthorizationHeaderMalformed', 'Set AWS_REGION'],
    ['AccessDenied', 's3:ListBucket'],
    ['InvalidAccessKeyId', 'Set AWS_ACCESS_KEY_ID'],
    ['NotImplemented', 'Use a server that honours it'],
    ['SomethingElse', 'Check the bucket'],
  ])('of a bucket that says %s says how to fix that', async (code, fix) => {
    server = await startScriptedS3(() => s3Error(403, code));
    await expect(server.storage().probe?.()).rejects.toThrow(fix);
  });

  test('of a server that cannot be reached says how to fix that', async () => {
    server = await startScriptedS3();
    const nowhere = server.storage({ endpoint: 'http://127.0.0.1:1' });
    await expect(nowhere.probe?.()).rejects.toThrow('Correct AWS_ENDPOINT_URL_S3');
  });

  test('names no address that the settings do not have', async () => {
    server = await startScriptedS3(() => s3Error(403, 'AccessDenied'));
    const before = process.env.AWS_ENDPOINT_URL_S3;
    process.env.AWS_ENDPOINT_URL_S3 = server.endpoint;
    try {
      const probing = server.storage({ endpoint: undefined, prefix: 'jobs' }).probe?.();
      await expect(probing).rejects.toThrow(/^The storage s3:\/\/videos\/jobs cannot be used: AccessDenied/);
    } finally {
      if (before === undefined) delete process.env.AWS_ENDPOINT_URL_S3;
      else process.env.AWS_ENDPOINT_URL_S3 = before;
    }
  });
});

describe('the AWS SDK', () => {
  /** What a probe says in a process that cannot load this package. */
  async function probeWithout(name: string, error: Error): Promise<string> {
    jest.doMock(name, () => {
      throw error;
    });
    try {
      const probing = createS3Storage({ bucket: 'videos' }).probe?.();
      return await Promise.resolve(probing).then(() => 'it works', String);
    } finally {
      jest.dontMock(name);
    }
  }

  test.each(['@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'])(
    'is needed: without %s, the error says what to install',
    async (missing) => {
      const notFound = Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
      const said = await probeWithout(missing, notFound);
      expect(said).toContain(
        'the AWS SDK, which stores videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner`',
      );
      expect(said).toContain('Install it where videogen is installed');
    },
  );

  test('that cannot be loaded for another reason says that reason', async () => {
    const error = new SyntaxError('Unexpected token');
    expect(await probeWithout('@aws-sdk/lib-storage', error)).toContain('SyntaxError: Unexpected token');
  });
});

test('256 videos that nobody reads keep neither records nor each other waiting', async () => {
  server = await answers([/fox\.mp4/, { body: 'x'.repeat(1024 * 1024) }]);
  const storage = server.storage();
  const unread = await Promise.all(Array.from({ length: 256 }, () => storage.read('fox.mp4')));
  await storage.write('record.json', '{}', 'application/json');
  for (const stream of unread) stream?.destroy();
});

test.each<[string, (storage: VideoStorage) => Promise<unknown> | undefined]>([
  ['write', (storage) => storage.write('a', 'b', 'text/plain')],
  ['removal', (storage) => storage.removeKey?.('a')],
])('a %s that the server never answers ends by itself after a minute', async (_what, work) => {
  let onAsked = () => {};
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  server = await startScriptedS3(() => {
    onAsked();
    return { isNever: true };
  });
  const limit = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  try {
    const ended = expect(work(server.storage())).rejects.toThrow(StorageFault);
    await asked;
    expect(timeout.mock.calls).toEqual([[60_000]]);
    limit.abort();
    await ended;
  } finally {
    timeout.mockRestore();
  }
});

describe.each<[string, (storage: VideoStorage) => Promise<unknown> | undefined]>([
  ['write', (storage) => storage.write('a', 'b', 'text/plain')],
  ['read', (storage) => storage.read('a')],
  ['publish', (storage) => store(storage, 'a.mp4', FOX)],
  ['probe', (storage) => storage.probe?.()],
])('the error of an S3 server to a %s', (_name, work) => {
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE000000001',
    secretAccessKey: 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY',
    sessionToken: 'FwoGZXIvYXdzEBYaDExampleSessionToken0123456789',
  };
  const errorOf = async (answerTo: (call: string) => S3Answer) => {
    server = await startScriptedS3(answerTo);
    return work(server.storage({ credentials: { ...credentials } }))?.catch((error: unknown) => error);
  };

  test('is redacted when it quotes the credentials', async () => {
    const error = await errorOf((call) => {
      const token = server.headersOf(call)['x-amz-security-token'];
      const quoted = `${token} of ${credentials.accessKeyId}, ${credentials.secretAccessKey}`;
      return s3Error(403, 'AccessDenied', `no, ${quoted}`, `<Token>${quoted}</Token>`);
    });
    expect(error).toMatchObject({ message: expect.stringContaining('AccessDenied: no, …') });
    const all = inspect(error, { depth: 10, showHidden: true });
    for (const secret of Object.values(credentials)) expect(all).not.toContain(secret);
  });

  test('is cut, and has nothing longer attached', async () => {
    const error = await errorOf(() => s3Error(403, 'AccessDenied', 'x'.repeat(3_000_000)));
    expect(error).toMatchObject({ message: expect.stringContaining('AccessDenied: xxx') });
    const all = inspect(error, { depth: 10, showHidden: true, maxStringLength: null });
    expect(all.length).toBeLessThan(10_000);
  });
});
