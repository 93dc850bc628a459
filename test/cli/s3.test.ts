import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { CopyFailed, copyOut } from '../../src/cli/copy-out';
import type { DoctorReport } from '../../src/cli/doctor';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { run } from '../../src/cli/run';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import { startS3Proxy } from '../storage/s3-proxy';
import { s3Error, startScriptedS3 } from '../storage/scripted-s3';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { failureOf } from '../support/world';
import { FakeTerminal } from './fake-terminal';

let server: S3Server;
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  server = await startS3Server();
  const { endpoint, region, credentials } = server.connection;
  env = {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    VIDEOGEN_S3_PATH_STYLE: 'true',
    VIDEOGEN_STORAGE: `s3://${server.bucket}/checked/at`,
  };
}, S3_SERVER_TIMEOUT_MS);
afterAll(() => server?.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-s3-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('--out with a video in S3', () => {
  const BYTES = Buffer.alloc(3_000_000, 'fox');
  const KEY = 'foxes/a red fox #1.mp4';
  const uri = () => `s3://${server.bucket}/${KEY}`;
  beforeEach(() =>
    server.client.send(new PutObjectCommand({ Bucket: server.bucket, Key: KEY, Body: BYTES })),
  );

  it('downloads all of it with the configured connection', async () => {
    const target = join(folder, 'copies', 'fox.mp4');
    expect(await copyOut(uri(), target, env)).toBe(target);
    expect(readFileSync(target).equals(BYTES)).toBe(true);
    expect(readdirSync(join(folder, 'copies'))).toEqual(['fox.mp4']);
  });

  it.each<[string, () => Record<string, string>, string]>([
    ['it is gone', () => env, 'it no longer exists'],
    [
      'the credentials are others',
      () => ({ ...env, AWS_SECRET_ACCESS_KEY: 'another' }),
      'SignatureDoesNotMatch: ',
    ],
    [
      'nothing listens there',
      () => ({ ...env, AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' }),
      'connect ECONNREFUSED',
    ],
    [
      'a setting is wrong',
      () => ({ ...env, VIDEOGEN_S3_PATH_STYLE: 'maybe' }),
      'VIDEOGEN_S3_PATH_STYLE is "maybe", neither',
    ],
  ])(
    'says in one sentence where the video is when %s, and leaves no partial file',
    async (what, given, message) => {
      if (what === 'it is gone') {
        await server.client.send(new DeleteObjectCommand({ Bucket: server.bucket, Key: KEY }));
      }
      const target = join(folder, 'fox.mp4');
      const failure = await failureOf(copyOut(uri(), target, given()));
      expect(failure).toBeInstanceOf(CopyFailed);
      expect(exitCodeOf(failure)).toBe(15);
      expect(String(failure)).toContain(`The video is at ${uri()}, but could not be copied to ${target}: `);
      expect(String(failure)).toContain(message);
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});

test('generate with a bucket that cannot be reached starts nothing, and says what to correct', async () => {
  const VIDEOGEN_DATA = join(folder, 'data');
  const VIDEOGEN_STORAGE = 's3://videos/wolves';
  const terminal = new FakeTerminal({
    ...env,
    VIDEOGEN_DATA,
    VIDEOGEN_STORAGE,
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
  });
  expect(await run(['generate', 'A wolf', '--json'], terminal)).toBe(15);
  // In Jest's sandbox the AWS SDK does not recognize an Error, and says so before the message.
  expect(terminal.stderr).toMatch(
    /^The storage s3:\/\/videos\/wolves at http:\/\/127\.0\.0\.1:1 cannot be used: (?:AWS SDK error wrapper for Error: )?connect ECONNREFUSED 127\.0\.0\.1:1\. Correct AWS_ENDPOINT_URL_S3 /m,
  );
  expect(JSON.parse(terminal.stdout)).toMatchObject({ error: { type: 'StorageUnusable' } });
  expect(existsSync(VIDEOGEN_DATA)).toBe(false);
});

describe('the doctor', () => {
  const check = async (further: Record<string, string> = {}) => {
    const terminal = new FakeTerminal({ ...env, ...further });
    await run(['doctor', '--json'], terminal);
    const { checks }: DoctorReport = JSON.parse(terminal.stdout);
    return checks.flatMap(({ name, ...found }) => (name === 'storage' ? [found] : []))[0];
  };
  it('writes a small object to the bucket, and removes it again', async () => {
    const address = `s3://${server.bucket}/checked/at at ${server.connection.endpoint}`;
    expect(await check()).toEqual({
      ok: true,
      found: `${address} can be written`,
    });
    const { Contents = [] } = await server.client.send(
      new ListObjectsV2Command({ Bucket: server.bucket, Prefix: 'checked/' }),
    );
    expect(Contents).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp, RegExp]>([
    [
      'a bucket that is not there',
      { VIDEOGEN_STORAGE: 's3://nowhere' },
      /^s3:\/\/nowhere at .*: NoSuchBucket: /,
      /^Create the bucket, or correct its name in VIDEOGEN_STORAGE\.$/,
    ],
    [
      'a wrong secret',
      { AWS_SECRET_ACCESS_KEY: 'another' },
      /: SignatureDoesNotMatch: /,
      /^Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY /,
    ],
    [
      'a server that is not there',
      { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' },
      /: connect ECONNREFUSED /,
      /^Correct AWS_ENDPOINT_URL_S3 and AWS_REGION, /,
    ],
    [
      'an unknown host name',
      { AWS_ENDPOINT_URL_S3: 'http://s3.invalid', VIDEOGEN_S3_PATH_STYLE: 'false' },
      /: getaddrinfo (ENOTFOUND|EAI_AGAIN) /,
      /^Correct AWS_ENDPOINT_URL_S3 and AWS_REGION, /,
    ],
    [
      'no region',
      { AWS_REGION: '' },
      /: Region is missing$/,
      /^Set AWS_REGION to the region of the bucket\.$/,
    ],
  ])('finds %s, and how to fix it', async (_what, further, found, fix) => {
    expect(await check(further)).toEqual({
      ok: false,
      found: expect.stringMatching(found),
      fix: expect.stringMatching(fix),
    });
  });

  it('names what to check for an error that it does not know', async () => {
    const server = await startScriptedS3(() => s3Error(400, 'OddError'));
    const finding = await check({ AWS_ENDPOINT_URL_S3: server.endpoint });
    await server.stop();
    expect(finding).toEqual({
      ok: false,
      found: expect.stringContaining(': OddError: '),
      fix: expect.stringMatching(/^Check the bucket, /),
    });
  });

  it('finds a server that ignores If-None-Match', async () => {
    const remove = (path: string) => {
      const Key = path.replace(`/${server.bucket}/`, '');
      return server.client.send(new DeleteObjectCommand({ Bucket: server.bucket, Key }));
    };
    const proxy = await startS3Proxy(server.connection.endpoint, { overwrite: () => true, remove });
    const further = { AWS_ENDPOINT_URL_S3: proxy.endpoint };
    const finding = await check(further);
    await proxy.stop();
    expect(finding).toEqual({
      ok: false,
      found: expect.stringContaining('the server ignores If-None-Match'),
      fix: expect.stringContaining('Use a server that honours it'),
    });
  });

  it('does not wait for a server that never answers', async () => {
    const port = await freePort();
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket)).listen(port, LOOPBACK);
    await once(mute, 'listening');
    const finding = await check({ AWS_ENDPOINT_URL_S3: `http://${LOOPBACK}:${port}` });
    for (const socket of sockets) socket.destroy();
    mute.close();
    expect(finding).toMatchObject({ ok: false, found: expect.stringMatching(/: no answer within \d s$/) });
  });

  it('says what to install if the AWS SDK is not installed', async () => {
    jest.doMock('@aws-sdk/lib-storage', () => {
      throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
    });
    try {
      expect(await check()).toEqual({
        ok: false,
        found: expect.stringContaining('is not installed: run `npm install @aws-sdk/client-s3 '),
        fix: 'Install it where videogen is installed, or set VIDEOGEN_STORAGE to a folder.',
      });
    } finally {
      jest.dontMock('@aws-sdk/lib-storage');
    }
  });
});
