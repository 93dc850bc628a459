import { StorageFault } from '../../src/storage';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';

let server: ScriptedS3;
afterEach(() => server.stop());

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
