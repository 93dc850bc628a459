import { StorageUnusable } from '../../src/storage';
import { failureOf } from '../support/world';
import { type S3Answer, type ScriptedS3, s3Error, startScriptedS3 } from './scripted-s3';
import { store, VIDEO } from './storage-contract';

let server: ScriptedS3;
afterEach(() => server.stop());

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
  const puts = () => server.calls.filter((call) => call.startsWith('PUT ')).length;

  it('accepts an honest server, and leaves nothing', async () => {
    server = await startScriptedS3(bucket());
    await server.storage({ prefix: 'jobs' }).probe?.();
    // A file, the same key again, and the file replaced.
    expect(puts()).toBe(3);
    const removed = server.calls.filter((call) => /^DELETE /.test(call));
    expect(removed).toEqual([expect.stringMatching(/^DELETE \/videos\/jobs\/\.videogen-probe-/)]);
  });

  it('refuses a server that replaces objects, and names the bucket without a prefix', async () => {
    server = await startScriptedS3(bucket({ isHonest: false }));
    const storage = server.storage();
    const failure = await failureOf(storage.probe?.() ?? Promise.resolve());
    expect(failure).toBeInstanceOf(StorageUnusable);
    expect(String(failure)).toMatch(
      /The storage s3:\/\/videos at http:\S+ cannot be used: the server ignores If-None-Match/,
    );
    await expect(store(storage, 'fox.mp4', VIDEO)).rejects.toThrow('ignores If-None-Match');
  });

  it('does not forget that a server replaces objects when a later one fails for another reason', async () => {
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
});
