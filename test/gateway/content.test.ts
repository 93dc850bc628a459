import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify';
import { readGatewayConfig } from '../../src/config/gateway-config';
import { sendContent } from '../../src/gateway/content';
import { logRequests } from '../../src/gateway/request-log';
import { sendError } from '../../src/gateway/send-error';
import { createLogger } from '../../src/logging/create-logger';
import { createFileStorage, createS3Storage, type VideoStorage } from '../../src/storage';
import { PNG } from '../support/images';
import { closedGateway } from './closed-gateway';

const SHA256 = 'ab'.repeat(32);
const apps: FastifyInstance[] = [];
const lines: string[] = [];
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-content-'));
});
afterEach(async () => {
  lines.length = 0;
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Asked extends InjectOptions {
  storage: VideoStorage;
  uri: string;
  content?: 'stream' | 'redirect';
}

/** The answer about a video that has ended, without the Temporal that would know it. */
async function ask({ storage, uri, content = 'redirect', ...call }: Asked) {
  const app = Fastify();
  apps.push(app);
  const logError = logRequests(app, {
    callerOf: () => 'local',
    lines: 'requests',
    logger: createLogger({ level: 'info', format: 'json', write: (line) => lines.push(line) }),
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, logError));
  const video = { uri, bytes: 3, sha256: SHA256, contentType: 'video/mp4' };
  const found = { taskId: 'video_1', ending: { result: { video } } };
  app.get('/content', { schema: { hide: true } }, (request, reply) =>
    sendContent(found as never, { storage, content }, request, reply),
  );
  return app.inject({ url: '/content', ...call });
}

/** S3 is not asked for a link, so there is no server. */
const s3 = createS3Storage({
  bucket: 'videos',
  prefix: 'foxes',
  endpoint: 'https://s3.example',
  region: 'us-east-1',
  pathStyle: true,
  credentials: { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' },
});
const IN_S3 = { storage: s3, uri: 's3://videos/foxes/red.mp4' };

test('the video is the only variant of the content', async () => {
  writeFileSync(join(folder, 'red.mp4'), 'fox');
  const red = {
    storage: createFileStorage(folder),
    uri: pathToFileURL(join(folder, 'red.mp4')).href,
  };
  const { statusCode, body } = await ask({ ...red, url: '/content?variant=video' });
  expect([statusCode, body]).toEqual([200, 'fox']);
  expect((await ask({ ...red, url: '/content?variant=thumbnail' })).statusCode).toBe(400);
});

describe('content in S3', () => {
  it('is at a signed link for five minutes, which no cache and no log gets', async () => {
    const { statusCode, headers, body } = await ask(IN_S3);
    const { location = '', 'cache-control': caching } = headers;
    expect([statusCode, caching, body]).toEqual([302, 'no-store', '']);
    const link = new URL(location);
    expect(link.origin + link.pathname).toBe('https://s3.example/videos/foxes/red.mp4');
    expect(link.searchParams.get('X-Amz-Expires')).toBe('300');
    const signature = link.searchParams.get('X-Amz-Signature') ?? 'none';
    expect(lines).toEqual([expect.stringContaining('"status":302')]);
    expect(lines[0]).not.toContain(signature);
    expect(lines[0]).not.toContain('s3.example');
  });

  it('answers HEAD itself, and who has the video already, because a link is good for GET only', async () => {
    const file = join(folder, 'red.mp4');
    writeFileSync(file, 'fox');
    const storage = { ...createFileStorage(folder), linkTo: async () => 'https://s3.example/red.mp4' };
    const head = await ask({ storage, uri: pathToFileURL(file).href, method: 'HEAD' });
    expect([head.statusCode, head.headers]).toMatchObject([
      200,
      { etag: `"${SHA256}"`, 'content-length': '3' },
    ]);
    expect((await ask({ ...IN_S3, headers: { 'if-none-match': `"${SHA256}"` } })).statusCode).toBe(304);
  });

  it('gets no link when its name leads out of the storage', async () => {
    for (const uri of ['s3://videos/others/red.mp4', 's3://secrets/foxes/red.mp4', 'file:///etc/passwd']) {
      const { statusCode, headers } = await ask({ storage: s3, uri });
      expect([uri, statusCode, headers.location]).toEqual([uri, 404, undefined]);
    }
  });

  it('is streamed by default, and always for the page, which may connect to the gateway only', async () => {
    expect(readGatewayConfig({}).content).toBe('stream');
    const opened: string[] = [];
    const storage: VideoStorage = {
      ...s3,
      open: async (uri) => {
        opened.push(uri);
        return undefined;
      },
    };
    await ask({ ...IN_S3, storage, content: 'stream' });
    await ask({ ...IN_S3, storage, url: '/content?stream=true' });
    expect(opened).toEqual([IN_S3.uri, IN_S3.uri]);
    expect((await ask({ ...IN_S3, url: '/content?stream=maybe' })).json()).toMatchObject({
      error: { param: 'stream', message: 'stream: must be true, or left out' },
    });
  });

  it('is streamed or redirected, and nothing else', () => {
    expect(() => readGatewayConfig({ VIDEOGEN_GATEWAY_CONTENT: 'links' })).toThrow(
      'VIDEOGEN_GATEWAY_CONTENT is "links": set it to stream or redirect, or unset it',
    );
  });
});

it('content in a folder is streamed, however the gateway is set', async () => {
  const storage = createFileStorage(folder);
  const { uri } = await storage.write('red.mp4', 'fox', 'video/mp4');
  const { statusCode, body, headers } = await ask({ storage, uri });
  expect([statusCode, body, headers.location]).toEqual([200, 'fox', undefined]);
});

describe('a storage that fails', () => {
  const SENTENCE = 'The storage of the videos does not answer. Nothing is lost: try again.';
  const UNAVAILABLE = { error: { code: 'storage_unavailable', type: 'server_error', message: SENTENCE } };
  let broken: string;
  beforeAll(() => {
    broken = join(folder, 'broken');
    symlinkSync(broken, broken);
  });
  const expectLogged = (log: string[], requestId: unknown) => {
    const parsed = log.map((line) => JSON.parse(line));
    expect(parsed).toMatchObject([
      { level: 'error', error: expect.stringMatching(/^StorageFault: .*ELOOP/) },
      { level: 'error', status: 503 },
    ]);
    if (requestId !== undefined) expect(parsed[0].requestId).toBe(requestId);
  };

  it('while a video is read is a 503 that says to try again, and its reason is in the log', async () => {
    const uri = pathToFileURL(join(broken, 'red.mp4')).href;
    const { statusCode, body, headers } = await ask({ storage: createFileStorage(broken), uri });
    expect([statusCode, headers['retry-after'], JSON.parse(body)]).toMatchObject([503, '1', UNAVAILABLE]);
    expect(body).not.toContain('ELOOP');
    expectLogged(lines, undefined);
  });

  it('while an image is uploaded is the same', async () => {
    const { app, lines: log } = await closedGateway({ storage: createFileStorage(broken) });
    apps.push(app);
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/images',
      headers: { 'content-type': 'image/png' },
      payload: PNG,
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([503, UNAVAILABLE]);
    expectLogged(log, answer.headers['x-request-id']);
  });
});
