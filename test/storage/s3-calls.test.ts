import { text } from 'node:stream/consumers';
import { checkImage, StorageFault, StorageUnusable, storeImage } from '../../src/storage';
import { PNG } from '../support/images';
import { failureOf } from '../support/world';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';
import { LONG_VIDEO, MP4, store, VIDEO, VIDEO_IN_PARTS, wholeOf } from './storage-contract';

let server: ScriptedS3;
afterEach(() => server.stop());

const FOX = VIDEO.subarray(0, 1_000);
const upload = (key: string, id: string, more = '') =>
  `<Upload><Key>${key}</Key><UploadId>${id}</UploadId>${more}</Upload>`;
const uploads = (...some: string[]): S3Answer => ({
  body: `<ListMultipartUploadsResult>${some.join('')}</ListMultipartUploadsResult>`,
});
const isListOfUploads = (call: string) => /^GET .*[?&]uploads/.test(call);
const aborts = () => server.calls.filter((call) => /^DELETE .*uploadId=/.test(call)).map(withoutOperation);
const withoutOperation = (call: string) => call.replace(/[?&]x-id=\w+/, '');

describe('what an earlier attempt has left of a video', () => {
  const left = [upload('jobs/fox.mp4', '1'), upload('jobs/fox.mp4.json', '2'), upload('jobs/fox.mp4', '3')];

  it('is removed by a retry, and nothing of other keys is', async () => {
    server = await startScriptedS3((call) => (isListOfUploads(call) ? uploads(...left) : undefined));
    await store(server.storage({ prefix: 'jobs' }), 'fox.mp4', FOX, { isRetry: true });
    expect(aborts()).toEqual([
      'DELETE /videos/jobs/fox.mp4?uploadId=1',
      'DELETE /videos/jobs/fox.mp4?uploadId=3',
    ]);
  });

  it('is not looked for by a first attempt', async () => {
    server = await startScriptedS3();
    await store(server.storage({ prefix: 'jobs' }), 'fox.mp4', FOX);
    expect(server.calls.map(withoutOperation)).toEqual(['PUT /videos/jobs/fox.mp4']);
  });

  it('is counted when it is removed, and may be gone already', async () => {
    server = await startScriptedS3((call) => {
      if (isListOfUploads(call)) return uploads(...left);
      return call.includes('uploadId=1') ? s3Error(404, 'NoSuchUpload') : undefined;
    });
    expect(await server.storage({ prefix: 'jobs' }).removeParts?.('fox.mp4', MP4.owner)).toBe(2);
  });

  it('is a fault when the server does not let it go', async () => {
    server = await startScriptedS3((call) =>
      isListOfUploads(call) ? uploads(...left) : s3Error(403, 'AccessDenied'),
    );
    const removing = server.storage({ prefix: 'jobs' }).removeParts?.('fox.mp4', MP4.owner);
    await expect(removing).rejects.toThrow('AccessDenied');
  });
});

describe('a sweep', () => {
  it('leaves an upload whose beginning the server does not tell', async () => {
    const initiated = '<Initiated>2020-01-01T00:00:00.000Z</Initiated>';
    server = await startScriptedS3((call) =>
      isListOfUploads(call) ? uploads(upload('jobs/a', '1'), upload('jobs/b', '2', initiated)) : undefined,
    );
    expect(await server.storage({ prefix: 'jobs' }).sweep?.(1_000)).toBe(1);
    expect(aborts()).toEqual(['DELETE /videos/jobs/b?uploadId=2']);
  });

  it('asks nothing of a bucket without a prefix, whose uploads may be of others', async () => {
    server = await startScriptedS3();
    expect(await server.storage().sweep?.(1_000)).toBe(0);
    expect(server.calls).toEqual([]);
  });

  it('fails when the server does not list uploads', async () => {
    server = await startScriptedS3(() => s3Error(403, 'AccessDenied'));
    await expect(server.storage({ prefix: 'jobs' }).sweep?.(1_000)).rejects.toThrow(StorageFault);
  });
});

describe('the video that a job names', () => {
  it('is removed with its sidecar, and nothing of others is', async () => {
    server = await startScriptedS3(() => ({ status: 204 }));
    const storage = server.storage({ prefix: 'jobs' });
    for (const uri of ['s3://videos/others/fox.mp4', 's3://videos/', 's3://films/jobs/fox.mp4', 'fox.mp4'])
      await storage.remove?.(uri);
    expect(server.calls).toEqual([]);
    await storage.remove?.('s3://videos/jobs/fox.mp4');
    expect(server.calls.map(withoutOperation)).toEqual([
      'DELETE /videos/jobs/fox.mp4',
      'DELETE /videos/jobs/fox.mp4.json',
    ]);
  });

  it('is read whole or in part, and nothing of others is', async () => {
    server = await startScriptedS3(() => ({ body: 'a fox' }));
    const storage = server.storage({ prefix: 'jobs' });
    expect(await storage.open?.('s3://videos/others/fox.mp4')).toBeUndefined();
    expect(server.calls).toEqual([]);
    const whole = await storage.open?.('s3://videos/jobs/fox.mp4');
    expect(whole && (await text(whole))).toBe('a fox');
    expect(server.headersOf('fox.mp4').range).toBeUndefined();
    const part = await storage.open?.('s3://videos/jobs/owl.mp4', { start: 2, end: 5 });
    part?.destroy();
    expect(server.headersOf('owl.mp4').range).toBe('bytes=2-5');
  });

  it('has no key where it would name another object', async () => {
    server = await startScriptedS3();
    const keyOf = (uri: string, prefix?: string) => server.storage({ prefix }).keyOf?.(uri);
    expect(keyOf('s3://videos/a/fox.mp4')).toBe('a/fox.mp4');
    expect(keyOf('s3://videos/jobs/a/fox.mp4', 'jobs')).toBe('a/fox.mp4');
    for (const key of ['a/../fox.mp4', '../fox.mp4', 'a//fox.mp4', './fox.mp4', ''])
      expect([key, keyOf(`s3://videos/jobs/${key}`, 'jobs')]).toEqual([key, undefined]);
    expect(keyOf('s3://videos/../fox.mp4')).toBeUndefined();
    expect(keyOf('s3://videos/')).toBeUndefined();
  });

  it('has the folder of the settings, whose slashes inside count and those around it do not', async () => {
    server = await startScriptedS3();
    const storage = server.storage({ prefix: '//jobs/2026//' });
    expect(await storage.write('fox../x.txt', 'a fox', 'text/plain')).toEqual({
      uri: 's3://videos/jobs/2026/fox../x.txt',
    });
    expect(storage.keyOf?.('s3://videos/jobs/2026/fox../x.txt')).toBe('fox../x.txt');
  });

  it('has a link, made without a call', async () => {
    server = await startScriptedS3();
    const storage = server.storage({ prefix: 'jobs' });
    const validity = { from: new Date(), seconds: 60 };
    const link = `${server.endpoint}/videos/jobs/fox.mp4?x-amz-`;
    expect(await storage.link?.('fox.mp4', validity)).toContain(link);
    expect(await storage.linkTo?.('s3://videos/jobs/fox.mp4', validity)).toContain(link);
    expect(await storage.linkTo?.('s3://videos/others/fox.mp4', validity)).toBeUndefined();
    expect(server.calls).toEqual([]);
  });
});

describe('when a file was stored', () => {
  it.each<[string, S3Answer, unknown]>([
    [
      'is told',
      { headers: { 'last-modified': 'Mon, 16 Nov 2026 12:00:00 GMT' } },
      new Date(Date.UTC(2026, 10, 16, 12)),
    ],
    ['is unknown of a missing file', { status: 404 }, undefined],
  ])('%s', async (_, answer, storedAt) => {
    server = await startScriptedS3(() => answer);
    expect(await server.storage().storedAt?.('fox.mp4')).toEqual(storedAt);
  });

  it('is a fault when the server does not tell it', async () => {
    server = await startScriptedS3(() => ({ status: 403 }));
    await expect(server.storage().storedAt?.('fox.mp4')).rejects.toThrow(StorageFault);
  });
});

describe('a list', () => {
  const object = (key: string, more = '') => `<Contents><Key>${key}</Key>${more}</Contents>`;
  const page = (content: string, isTruncated = false): S3Answer => ({
    body: `<ListBucketResult>${content}<IsTruncated>${isTruncated}</IsTruncated></ListBucketResult>`,
  });
  const listed = async (prefix: string, options: { prefix?: string } = { prefix: 'jobs' }) => {
    const files: unknown[] = [];
    for await (const file of server.storage(options).list?.(prefix) ?? []) files.push(file);
    return files;
  };
  const storedAt = new Date(0);

  it('goes on after the last key of each page', async () => {
    server = await startScriptedS3((call) =>
      call.includes('start-after=jobs/a.2')
        ? page(object('jobs/a.3'))
        : page(['jobs/a.0', 'jobs/a.1', 'jobs/a.2'].map((key) => object(key)).join(''), true),
    );
    const keys = ['a.0', 'a.1', 'a.2', 'a.3'];
    expect(await listed('a.')).toEqual(keys.map((key) => ({ key, storedAt })));
    expect(server.calls).toHaveLength(2);
  });

  it('has the whole keys of a bucket without a prefix, and skips what has none', async () => {
    server = await startScriptedS3(() =>
      page(
        `<Contents><Size>1</Size></Contents>${object('a', '<LastModified>2026-11-16T12:00:00Z</LastModified>')}`,
      ),
    );
    expect(await listed('', {})).toEqual([{ key: 'a', storedAt: new Date(Date.UTC(2026, 10, 16, 12)) }]);
    expect(server.calls).toEqual([expect.stringMatching(/prefix=(&|$)/)]);
  });

  it('of an empty page that claims to go on ends', async () => {
    server = await startScriptedS3(() => page('', true));
    expect(await listed('')).toEqual([]);
    expect(server.calls).toHaveLength(1);
  });

  it('of a server that does not say whether it goes on has ended', async () => {
    server = await startScriptedS3(() => ({
      body: `<ListBucketResult>${object('jobs/a')}</ListBucketResult>`,
    }));
    expect(await listed('')).toEqual([{ key: 'a', storedAt }]);
    expect(server.calls).toHaveLength(1);
  });

  it('that the server refuses is a fault', async () => {
    server = await startScriptedS3(() => s3Error(403, 'AccessDenied'));
    await expect(listed('')).rejects.toThrow(StorageFault);
  });
});

describe('a video that is stored', () => {
  const answers = (...rules: [RegExp, S3Answer][]) =>
    startScriptedS3((call) => rules.find(([pattern]) => pattern.test(call))?.[1]);
  const CREATED: S3Answer = {
    body: '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>',
  };
  const DONE: S3Answer = {
    body: '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>',
  };

  it.each<[string, boolean | undefined, unknown]>([
    ['only if its key is free', undefined, '*'],
    ['after a look at its key, where conditions are turned off', false, undefined],
  ])('goes to the server %s', async (_, conditionalPuts, condition) => {
    server = await answers([/^GET /, s3Error(404, 'NoSuchKey')]);
    const storage = server.storage({ conditionalPuts });
    expect(await store(storage, 'fox.mp4', FOX)).toEqual({ uri: 's3://videos/fox.mp4' });
    expect(server.headersOf('PUT ')).toMatchObject({ 'content-type': 'video/mp4' });
    expect(server.headersOf('PUT ')['if-none-match']).toBe(condition);
    expect(server.calls.map((call) => call.slice(0, 3))).toEqual(
      condition === undefined ? ['GET', 'PUT'] : ['PUT'],
    );
  });

  it.each<[string, Record<string, string>]>([
    ['', { 'content-length': '5' }],
    [', also by a server that does not say how long it is', {}],
  ])('was there when the server refuses it and has the same one%s', async (_, headers) => {
    server = await answers(
      [/^PUT /, s3Error(412, 'PreconditionFailed')],
      [/^GET /, { headers, body: 'a fox' }],
    );
    expect(await store(server.storage(), 'fox.mp4', Buffer.from('a fox'))).toEqual({
      uri: 's3://videos/fox.mp4',
      wasThere: true,
    });
  });

  it('is refused for another one, once and for all', async () => {
    server = await answers([/^PUT /, s3Error(412, 'PreconditionFailed')], [/^GET /, { body: 'an owl' }]);
    await expect(store(server.storage(), 'fox.mp4', FOX)).rejects.toMatchObject({
      message: expect.stringContaining('the key "fox.mp4" is taken by another file'),
      isFinal: true,
    });
  });

  it('fails with what the server said when it is not there afterwards', async () => {
    server = await answers([/^PUT /, s3Error(403, 'AccessDenied')], [/^GET /, s3Error(404, 'NoSuchKey')]);
    await expect(store(server.storage(), 'fox.mp4', FOX)).rejects.toThrow('AccessDenied');
  });

  it('leaves no upload behind when the server refuses to complete it', async () => {
    server = await answers(
      [/^POST .*[?&]uploads/, CREATED],
      [/^PUT .*partNumber=/, { headers: { etag: '"e"' } }],
      [/^POST .*uploadId=7/, s3Error(412, 'PreconditionFailed')],
      [/^GET /, s3Error(404, 'NoSuchKey')],
    );
    await expect(store(server.storage(), 'fox.mp4', VIDEO_IN_PARTS)).rejects.toThrow('PreconditionFailed');
    expect(aborts()).toContain('DELETE /videos/fox.mp4?uploadId=7');
  });

  it('is not sent again where conditions are turned off and the server has the same one', async () => {
    server = await answers([/^GET /, { body: 'a fox' }]);
    const storage = server.storage({ conditionalPuts: false });
    expect(await store(storage, 'fox.mp4', Buffer.from('a fox'))).toEqual({
      uri: 's3://videos/fox.mp4',
      wasThere: true,
    });
    await expect(store(storage, 'fox.mp4', FOX)).rejects.toThrow('is taken by another file');
    expect(server.calls.map((call) => call.slice(0, 3))).toEqual(['GET', 'GET']);
  });

  it('is not sent when bytes are missing', async () => {
    server = await startScriptedS3();
    const incoming = await server.storage().receive('fox.mp4', MP4);
    incoming.sink.write(FOX);
    await expect(incoming.publish({ ...wholeOf(FOX), bytes: 1_001 })).rejects.toThrow(
      'the storage received 1000 bytes of a video of 1001 bytes',
    );
    expect(server.calls).toEqual([]);
  });

  it('may be an image, with its content type', async () => {
    server = await startScriptedS3();
    const image = checkImage(PNG, 'shop');
    await storeImage(server.storage(), image);
    expect(server.calls.map(withoutOperation)).toEqual([
      `PUT /videos/images/shop/${image.reference.sha256}.png`,
    ]);
    expect(server.headersOf('PUT ')['content-type']).toBe('image/png');
  });

  it('is not stored when its sink is ended by somebody else', async () => {
    server = await answers([/^POST .*[?&]uploads/, CREATED], [/^POST /, DONE]);
    const incoming = await server.storage().receive('fox.mp4', MP4);
    incoming.sink.end(FOX);
    await expect(incoming.publish(wholeOf(FOX))).rejects.toThrow('ended without being published');
    expect(server.calls).toEqual([]);
  });

  it('whose upload the server refuses fails its writer, and does not end the process', async () => {
    server = await answers([/./, s3Error(403, 'AccessDenied')]);
    const incoming = await server.storage().receive('fox.mp4', MP4);
    const closed = new Promise((resolve) => incoming.sink.once('close', resolve));
    incoming.sink.write(LONG_VIDEO);
    await closed;
    expect(incoming.sink.errored).toMatchObject({
      name: 'StorageFault',
      message: expect.stringContaining('AccessDenied'),
    });
    await incoming.discard();
  });

  it('and discarded asks for nothing that was not begun', async () => {
    server = await startScriptedS3();
    const incoming = await server.storage().receive('fox.mp4', MP4);
    incoming.sink.write(FOX);
    await incoming.discard();
    expect(server.calls).toEqual([]);
    expect(incoming.sink.errored).toMatchObject({ message: 'the upload was discarded' });
  });
});

describe('a probe', () => {
  /** A bucket in memory that honours If-None-Match for puts, or not. */
  const bucket = ({ isHonest = true, refusesFree = false, losesAnswers = false } = {}) => {
    const objects = new Map<string, string>();
    return (call: string): S3Answer => {
      const [method = '', path = '', query = ''] = call.split(/[ ?]/);
      if (query.includes('uploads')) {
        return {
          body: '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>',
        };
      }
      if (query.includes('partNumber')) return { headers: { etag: '"e"' } };
      if (method === 'POST') {
        return isHonest
          ? s3Error(412, 'PreconditionFailed')
          : { body: '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>' };
      }
      if (method === 'GET') {
        const body = objects.get(path);
        return body === undefined ? s3Error(404, 'NoSuchKey') : { body };
      }
      if (method === 'DELETE') {
        if (!query.includes('uploadId')) objects.delete(path);
        return { status: 204 };
      }
      const isConditional = server.headersOf(call)['if-none-match'] === '*';
      if (isConditional && refusesFree) return s3Error(412, 'PreconditionFailed');
      if (isConditional && isHonest && objects.has(path)) return s3Error(412, 'PreconditionFailed');
      objects.set(path, path.split('/').at(-1) ?? '');
      // The SDK repeats a call whose answer is lost, and gets the answer to the second one.
      return isConditional && losesAnswers ? s3Error(412, 'PreconditionFailed') : {};
    };
  };
  const puts = () => server.calls.filter((call) => call.startsWith('PUT ')).length;

  it('accepts an honest server, leaves nothing, and asks only once whether it is honest', async () => {
    server = await startScriptedS3(bucket());
    await server.storage({ prefix: 'jobs' }).probe?.();
    // A file, the same key twice, and a part.
    expect(puts()).toBe(4);
    expect(aborts()).toEqual([
      expect.stringMatching(/^DELETE \/videos\/jobs\/\.videogen-probe-.*uploadId=7$/),
    ]);
    const removed = server.calls.filter((call) => /^DELETE /.test(call) && !call.includes('uploadId'));
    expect(new Set(removed).size).toBe(2);
    await server.storage({ prefix: 'jobs' }).probe?.();
    expect(puts()).toBe(5);
  });

  it('asks no question about conditions that are turned off', async () => {
    server = await startScriptedS3(bucket({ isHonest: false }));
    await server.storage({ conditionalPuts: false }).probe?.();
    expect(puts()).toBe(1);
  });

  it('refuses a server that replaces objects, each time anew, and names the bucket without a prefix', async () => {
    server = await startScriptedS3(bucket({ isHonest: false }));
    for (const expected of [3, 6]) {
      const failure = await failureOf(server.storage().probe?.() ?? Promise.resolve());
      expect(failure).toBeInstanceOf(StorageUnusable);
      expect(String(failure)).toMatch(
        /The storage s3:\/\/videos at http:\S+ cannot be used: the server ignores If-None-Match/,
      );
      expect(puts()).toBe(expected);
    }
    await expect(server.storage().receive('fox.mp4', MP4)).rejects.toThrow('ignores If-None-Match');
  });

  it('accepts an honest server whose first answer is lost', async () => {
    server = await startScriptedS3(bucket({ losesAnswers: true }));
    await server.storage().probe?.();
  });

  it('tells what a server says that refuses conditional puts for another reason', async () => {
    const answerTo = bucket();
    server = await startScriptedS3((call) =>
      server.headersOf(call)['if-none-match'] === '*' ? s3Error(403, 'AccessDenied') : answerTo(call),
    );
    await expect(server.storage().probe?.()).rejects.toThrow('AccessDenied');
  });

  it('names no address that the settings do not have', async () => {
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

  it('refuses a server that refuses a free key', async () => {
    server = await startScriptedS3(bucket({ refusesFree: true }));
    await expect(server.storage().probe?.()).rejects.toThrow(
      'the server refuses a put with If-None-Match although the key is free',
    );
    // Not known to ignore conditions, it may still get videos.
    await (await server.storage().receive('fox.mp4', MP4)).discard();
  });
});
