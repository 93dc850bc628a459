import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { type AiSdkFetch, aiSdkService } from '../../src/ai-sdk';
import { readAnswer } from '../../src/ai-sdk/large-answers';
import type { VideoService } from '../../src/service';
import { callService } from '../../src/service/call-service';
import { callApi } from '../activities/emulator-model';
import { closed, type RawRequest, reply, replyJson, startRawServer } from '../service/raw-server';
import { closeServices, faultOf, keepOpen, modelOf } from './models';

const MIB = 1024 * 1024;
const NO_SECRETS = { keys: [], wholeValues: [] };

afterEach(closeServices);

/** A service whose model reads the answer at an address as JSON, and then does what it is told. */
function readingService(url: string, then: (answer: Record<string, unknown>) => unknown): VideoService {
  const status = async (fetch: AiSdkFetch, signal?: AbortSignal) =>
    then(await callApi(url, { method: 'GET', fetch, signal }));
  return keepOpen(
    aiSdkService(({ fetch }) => ({
      ...modelOf({ status: (_, signal) => status(fetch, signal) }),
      ...{ config: { fetch } },
    })),
  );
}

const completed = ({ data }: Record<string, unknown>) => ({
  status: 'completed',
  videos: [{ type: 'base64', data }],
});

async function atServer(answer: (request: RawRequest) => void, work: (url: string) => Promise<void>) {
  const server = await startRawServer(answer);
  try {
    await work(server.url);
  } finally {
    await closeServices();
    await server.close();
  }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('a video in an answer of several megabytes arrives byte for byte', async () => {
  const video = randomBytes(3 * MIB);
  await atServer(
    (request) => replyJson(request, { data: video.toString('base64') }),
    async (url) => {
      const { task } = await readingService(url, completed).poll('task-1');
      if (task.state !== 'succeeded' || task.videoBytes === undefined) throw new Error('there is no video');
      expect(sha256(task.videoBytes)).toBe(sha256(video));
    },
  );
});

test('one large answer at a time is read: the next one waits until the call of the first has ended', async () => {
  const body = { data: Buffer.alloc(2 * MIB).toString('base64') };
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const order: string[] = [];
  await atServer(
    (request) => replyJson(request, body),
    async (url) => {
      let onRead: () => void = () => undefined;
      const firstIsRead = new Promise<void>((resolve) => {
        onRead = resolve;
      });
      const first = readingService(url, async (answer) => {
        onRead();
        await held;
        order.push('the first call ends');
        return completed(answer);
      }).poll('task-1');
      await firstIsRead;
      const second = readingService(url, (answer) => {
        order.push('the second is read');
        return completed(answer);
      }).poll('task-2');
      // Small answers wait for nobody. The second large one could be read beside so many of them.
      await atServer(
        (request) => replyJson(request, { data: 'AAAA' }),
        async (other) => {
          const service = readingService(other, completed);
          for (let poll = 0; poll < 20; poll++) await service.poll('task-3');
          order.push('small ones are read');
          goOn();
          await Promise.all([first, second]);
        },
      );
    },
  );
  expect(order).toEqual(['small ones are read', 'the first call ends', 'the second is read']);
});

test('a large answer that breaks off fails the poll, although its model calls the task failed', async () => {
  await atServer(
    (request) => {
      reply(request, { headers: { 'content-length': 5 * MIB }, body: Buffer.alloc(2 * MIB, ' ') });
      request.socket.end();
    },
    async (url) => {
      const service = keepOpen(
        aiSdkService(({ fetch }) => ({
          ...modelOf({
            status: () =>
              fetch(url)
                .then((answer) => answer.text())
                .catch((error: Error) => ({ status: 'error', error: error.message })),
          }),
          ...{ config: { fetch } },
        })),
      );
      expect(await faultOf(service.poll('task-1'))).toMatchObject({ kind: 'cut' });
    },
  );
});

test('an encoded answer may not grow past the size of a small one', async () => {
  await atServer(
    (request) =>
      reply(request, { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(2 * MIB)) }),
    async (url) => {
      expect(await faultOf(readingService(url, completed).poll('task-1'))).toMatchObject({
        kind: 'unreadable',
        message: 'the answer is larger than 1048576 bytes',
      });
    },
  );
});

test('a larger answer than a call may have is given up, and its connection closed', async () => {
  let end: Promise<void> | undefined;
  await atServer(
    (request) => {
      end = closed(request.socket);
      reply(request, { headers: { 'content-length': 100 * MIB }, body: Buffer.alloc(3 * MIB) });
    },
    async (origin) => {
      const dispatcher = new Agent();
      const timeouts = { headersTimeout: 10_000, bodyTimeout: 10_000 };
      const secrets = NO_SECRETS;
      const answer = await callService(dispatcher, {
        ...timeouts,
        method: 'GET',
        origin,
        path: '/',
        secrets,
      });
      const call = new AbortController();
      const read = await readAnswer(answer, { secrets, mostBytes: 2 * MIB, callEnded: call.signal });
      const readAll = async () => {
        if ('whole' in read) throw new Error('it was taken for a small one');
        for await (const chunk of read.chunks) expect(chunk.length).toBeGreaterThan(0);
      };
      expect(await faultOf(readAll())).toMatchObject({
        kind: 'unreadable',
        message: `the answer is larger than ${2 * MIB} bytes`,
      });
      await end;
      call.abort();
      await dispatcher.destroy();
    },
  );
});

test('a large answer that nobody reads to its end is closed with the call', async () => {
  let end: Promise<void> | undefined;
  await atServer(
    (request) => {
      end = closed(request.socket);
      reply(request, { headers: { 'content-length': 100 * MIB }, body: Buffer.alloc(2 * MIB) });
    },
    async (url) => {
      const service = keepOpen(
        aiSdkService(({ fetch }) => ({
          ...modelOf({ status: () => fetch(url).then(() => ({ status: 'pending' })) }),
          ...{ config: { fetch } },
        })),
      );
      expect((await service.poll('task-1')).task.state).toBe('running');
      await end;
    },
  );
});
