import { text } from 'node:stream/consumers';
import { checkImage, StorageFault, storeImage } from '../../src/storage';
import { PNG } from '../support/images';
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
    for (let at = 0; at < LONG_VIDEO.length; at += 1_000_000)
      incoming.sink.write(LONG_VIDEO.subarray(at, at + 1_000_000));
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
