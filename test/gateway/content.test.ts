import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify';
import { sendContent } from '../../src/gateway/content';
import { sendError } from '../../src/gateway/http-errors';
import { logRequests } from '../../src/gateway/watch-requests';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { createLogger } from '../../src/worker/logger';
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
}

/** The answer about a video that has ended, without the Temporal that would know it. */
async function ask({ storage, uri, ...call }: Asked) {
  const app = Fastify();
  apps.push(app);
  const logger = createLogger({ level: 'info', format: 'json', write: (line) => lines.push(line) });
  const logError = logRequests(app, logger);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, logError));
  const video = { uri, bytes: 3, sha256: SHA256, contentType: 'video/mp4' };
  const found = { taskId: 'video_1', ending: { result: { video } } };
  app.get('/content', { schema: { hide: true } }, (request, reply) =>
    sendContent(found as never, storage, request, reply),
  );
  return app.inject({ url: '/content', ...call });
}

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

test('who has the video already gets none of it', async () => {
  const storage = createFileStorage(folder);
  const { uri } = await storage.write('red.mp4', 'fox', 'video/mp4');
  const headers = { 'if-none-match': `"${SHA256}"` };
  expect((await ask({ storage, uri, headers })).statusCode).toBe(304);
  const head = await ask({ storage, uri, method: 'HEAD' });
  expect([head.statusCode, head.headers]).toMatchObject([
    200,
    { etag: `"${SHA256}"`, 'content-length': '3' },
  ]);
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
