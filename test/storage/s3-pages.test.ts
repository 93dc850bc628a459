import { StorageFault } from '../../src/storage';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';

let server: ScriptedS3;
afterEach(() => server.stop());

const since = (time: string) => `<Initiated>${time}</Initiated>`;
const OLD = since('2020-01-01T00:00:00.000Z');
const upload = (key: string, id: string, more = '') =>
  `<Upload><Key>${key}</Key><UploadId>${id}</UploadId>${more}</Upload>`;
const page = (content: string): S3Answer => ({
  body: `<ListMultipartUploadsResult>${content}</ListMultipartUploadsResult>`,
});

const isListOfUploads = (call: string) => /^GET .*[?&]uploads/.test(call);
const aborts = () =>
  server.calls
    .filter((call) => /^DELETE .*uploadId=/.test(call))
    .map((call) => call.replace(/[?&]x-id=\w+/, ''));

describe('a sweep', () => {
  // The S3 server of the other tests does not continue after a page that ends within a key.
  it('removes old unfinished uploads from all pages of the list, and new ones stay', async () => {
    const first = page(
      `${upload('jobs/a', '1', OLD)}${upload('jobs/b', '2', OLD)}<IsTruncated>true</IsTruncated>` +
        '<NextKeyMarker>jobs/b</NextKeyMarker><NextUploadIdMarker>2</NextUploadIdMarker>',
    );
    const second = page(
      `${upload('jobs/b', '3', OLD)}${upload('jobs/c', '4', since(new Date().toISOString()))}<IsTruncated>false</IsTruncated>`,
    );
    server = await startScriptedS3((call) => {
      if (!isListOfUploads(call)) return { status: 204 };
      return call.includes('key-marker=jobs/b') && call.includes('upload-id-marker=2') ? second : first;
    });
    expect(await server.storage({ prefix: 'jobs' }).sweep?.(3_600_000)).toBe(3);
    expect(aborts()).toEqual([
      'DELETE /videos/jobs/a?uploadId=1',
      'DELETE /videos/jobs/b?uploadId=2',
      'DELETE /videos/jobs/b?uploadId=3',
    ]);
  });

  it('leaves an upload whose beginning the server does not tell', async () => {
    server = await startScriptedS3((call) =>
      isListOfUploads(call) ? page(`${upload('jobs/a', '1')}${upload('jobs/b', '2', OLD)}`) : undefined,
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

describe('a list', () => {
  const object = (key: string, more = '') => `<Contents><Key>${key}</Key>${more}</Contents>`;
  const objects = (content: string, isTruncated = false): S3Answer => ({
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
        ? objects(object('jobs/a.3'))
        : objects(['jobs/a.0', 'jobs/a.1', 'jobs/a.2'].map((key) => object(key)).join(''), true),
    );
    const keys = ['a.0', 'a.1', 'a.2', 'a.3'];
    expect(await listed('a.')).toEqual(keys.map((key) => ({ key, storedAt })));
    expect(server.calls).toHaveLength(2);
  });

  it('has the whole keys of a bucket without a prefix, and skips what has none', async () => {
    server = await startScriptedS3(() =>
      objects(
        `<Contents><Size>1</Size></Contents>${object('a', '<LastModified>2026-11-16T12:00:00Z</LastModified>')}`,
      ),
    );
    expect(await listed('', {})).toEqual([{ key: 'a', storedAt: new Date(Date.UTC(2026, 10, 16, 12)) }]);
    expect(server.calls).toEqual([expect.stringMatching(/prefix=(&|$)/)]);
  });

  it('of an empty page that claims to go on ends', async () => {
    server = await startScriptedS3(() => objects('', true));
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
