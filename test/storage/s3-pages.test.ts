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
  it('removes old unfinished uploads, and new ones stay', async () => {
    const listed = page(
      `${upload('jobs/a', '1', OLD)}${upload('jobs/b', '2', OLD)}${upload('jobs/c', '3', since(new Date().toISOString()))}`,
    );
    server = await startScriptedS3((call) => (isListOfUploads(call) ? listed : { status: 204 }));
    expect(await server.storage({ prefix: 'jobs' }).sweep?.(3_600_000)).toBe(2);
    expect(aborts()).toEqual(['DELETE /videos/jobs/a?uploadId=1', 'DELETE /videos/jobs/b?uploadId=2']);
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
  const objects = (content: string, next = ''): S3Answer => ({
    body: `<ListBucketResult>${content}${next && `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`,
  });
  const listed = async (prefix: string, options: { prefix?: string } = { prefix: 'jobs' }) => {
    const files: unknown[] = [];
    for await (const file of server.storage(options).list?.(prefix) ?? []) files.push(file);
    return files;
  };
  const storedAt = new Date(0);

  it('has the keys of every page', async () => {
    server = await startScriptedS3((call) =>
      call.includes('continuation-token=more')
        ? objects(object('jobs/a.3'))
        : objects(['jobs/a.0', 'jobs/a.1', 'jobs/a.2'].map((key) => object(key)).join(''), 'more'),
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

  it('that the server refuses is a fault', async () => {
    server = await startScriptedS3(() => s3Error(403, 'AccessDenied'));
    await expect(listed('')).rejects.toThrow(StorageFault);
  });
});
