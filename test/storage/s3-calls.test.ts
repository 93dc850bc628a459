import { text } from 'node:stream/consumers';
import { checkImage, readStoredVideo, storeImage } from '../../src/storage';
import { PNG } from '../support/images';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';
import { LONG_VIDEO, store, VIDEO, VIDEO_IN_PARTS } from './storage-contract';

let server: ScriptedS3;
afterEach(() => server.stop());

const FOX = VIDEO.subarray(0, 1_000);
const aborts = () => server.calls.filter((call) => /^DELETE .*uploadId=/.test(call)).map(withoutOperation);
const withoutOperation = (call: string) => call.replace(/[?&]x-id=\w+/, '');

describe('the video that a job names', () => {
  it('has a key, and nothing of others has one', async () => {
    server = await startScriptedS3(() => ({ status: 204 }));
    const storage = server.storage({ prefix: 'jobs' });
    for (const uri of ['s3://videos/others/fox.mp4', 's3://videos/', 's3://films/jobs/fox.mp4', 'fox.mp4'])
      expect([uri, storage.keyOf?.(uri)]).toEqual([uri, undefined]);
    await storage.removeKey?.(storage.keyOf?.('s3://videos/jobs/fox.mp4') ?? '');
    expect(server.calls.map(withoutOperation)).toEqual(['DELETE /videos/jobs/fox.mp4']);
  });

  it('is read whole or in part, and nothing of others is', async () => {
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
});

describe('a video that is stored', () => {
  const answers = (...rules: [RegExp, S3Answer][]) =>
    startScriptedS3((call) => rules.find(([pattern]) => pattern.test(call))?.[1]);
  const CREATED: S3Answer = {
    body: '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>',
  };

  it('goes to the server only if its key is free', async () => {
    server = await answers();
    expect(await store(server.storage(), 'fox.mp4', FOX)).toEqual({ uri: 's3://videos/fox.mp4' });
    expect(server.headersOf('PUT ')).toMatchObject({ 'content-type': 'video/mp4', 'if-none-match': '*' });
    expect(server.calls).toHaveLength(1);
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

  it('is not sent when bytes are missing', async () => {
    server = await startScriptedS3();
    await expect(store(server.storage(), 'fox.mp4', FOX, { bytes: 1_001 })).rejects.toThrow(
      'the file has 1000 bytes, but the video has 1001',
    );
    expect(server.calls).toEqual([]);
  });

  it('may be an image, with its content type', async () => {
    server = await startScriptedS3();
    const image = checkImage(PNG, 'shop');
    await storeImage(server.storage(), image);
    expect(server.calls.map(withoutOperation)).toEqual([`PUT /videos/images/shop/${image.sha256}.png`]);
    expect(server.headersOf('PUT ')['content-type']).toBe('image/png');
  });

  it('whose upload the server refuses fails, and does not end the process', async () => {
    server = await answers([/./, s3Error(403, 'AccessDenied')]);
    await expect(store(server.storage(), 'fox.mp4', LONG_VIDEO)).rejects.toMatchObject({
      name: 'StorageFault',
      message: expect.stringContaining('AccessDenied'),
    });
  });
});

describe('a small file that is created', () => {
  it('is put as JSON, if its key is free', async () => {
    server = await startScriptedS3();
    expect(await server.storage().create('jobs/0001.json', '{}')).toBe(true);
    expect(server.calls.map(withoutOperation)).toEqual(['PUT /videos/jobs/0001.json']);
    expect(server.headersOf('0001.json')).toMatchObject({
      'if-none-match': '*',
      'content-type': 'application/json',
    });
  });

  it.each([
    [409, 'ConditionalRequestConflict'],
    [501, 'NotImplemented'],
  ])('is a fault when the server answers %d', async (status, code) => {
    server = await startScriptedS3(() => s3Error(status, code));
    await expect(server.storage().create('jobs/0001.json', '{}')).rejects.toThrow(code);
    expect(server.calls).toHaveLength(1);
  });
});
