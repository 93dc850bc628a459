import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { createHttpServer } from '../../src/gateway/http-server';
import { closedGateway } from './closed-gateway';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A server that answers when the test says so, and a connection to it. */
async function open() {
  const begun: { path: string | undefined; response: ServerResponse }[] = [];
  const server = createHttpServer(({ url: path }: IncomingMessage, response) => {
    begun.push({ path, response });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => server.closeAllConnections() ?? server.close());
  const { port } = server.address() as AddressInfo;
  return { begun, server, ...dial(port) };
}

function dial(port: number): { socket: Socket; closed: Promise<unknown>; read(): string } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  cleanUps.push(() => socket.destroy());
  return { socket, closed: new Promise((resolve) => socket.once('close', resolve)), read: () => text };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(50);
}

test('connections that nobody uses leave their places to others', async () => {
  const { begun, socket, closed, read, server } = await open();
  server.maxConnections = 1;
  socket.write(get('/1'));
  await until(() => begun.length === 1);
  begun.pop()?.response.end('1');
  await until(() => read().includes('\r\n1'));
  const { port } = server.address() as AddressInfo;
  await dial(port).closed;
  await closed;
  const next = dial(port);
  next.socket.write(get('/2'));
  await until(() => begun.length === 1);
  expect(begun[0]?.path).toBe('/2');
});

describe('requests that come before the answer to another one on the same connection', () => {
  it('begin in turn, and all are answered', async () => {
    const { begun, socket, read } = await open();
    socket.write(get('/1') + get('/2') + get('/3'));
    for (const path of ['/1', '/2', '/3']) {
      await until(() => begun.length > 0);
      await sleep(50);
      const [one, ...others] = begun.splice(0);
      expect([one?.path, others]).toEqual([path, []]);
      one?.response.end(path);
    }
    await until(() => read().includes('/3'));
    expect(read().match(/\r\n\r\n\/\d/g)).toHaveLength(3);
  });

  it('do not begin when the connection has ended', async () => {
    const { begun, socket } = await open();
    socket.write(get('/1') + get('/2') + get('/3'));
    await until(() => begun.length === 1);
    const ended = new Promise((resolve) => begun[0]?.response.once('close', resolve));
    socket.destroy();
    await ended;
    begun[0]?.response.end();
    await sleep(50);
    expect(begun).toHaveLength(1);
  });

  it('end the connection when there are more than ten', async () => {
    const { begun, socket, closed } = await open();
    socket.write(get('/').repeat(1_200));
    await closed;
    expect(begun).toHaveLength(1);
  });
});

describe('a key beyond its limits', () => {
  const LIMITS = { requestsPerSecond: 0.001 };
  const find = (name: string) => ({ name, sha256: '', limits: name === 'slow' ? LIMITS : {} });
  let app: FastifyInstance;
  let port: number;
  beforeEach(async () => {
    ({ app } = await closedGateway({ keys: { find } }));
    cleanUps.push(
      () => app.server.closeAllConnections(),
      () => app.close(),
    );
    await app.listen({ host: '127.0.0.1', port: 0 });
    ({ port } = app.server.address() as AddressInfo);
  });
  const head = (key: string, body: string) =>
    [
      'POST /v1/videos HTTP/1.1',
      'host: a',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      body,
    ].join('\r\n');
  const unfinished = (key: string, bytes: number) =>
    `${head(key, `content-length: ${bytes}`)}\r\n\r\n{"prompt":"`;
  const inPieces = (key: string, json: string) =>
    `${head(key, 'transfer-encoding: chunked')}\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`;
  const statusOf = async (text: string) => {
    const { socket, read } = dial(port);
    socket.write(text);
    await until(() => read().includes('\r\n\r\n'));
    return Number(read().slice(9, 12));
  };

  it('gets its 429 before its body is read', async () => {
    dial(port).socket.write(unfinished('slow', 1_000));
    await sleep(50);
    expect(await statusOf(unfinished('slow', 1_000))).toBe(429);
  });

  it('cannot fill the memory with unfinished bodies, and all keys together cannot either', async () => {
    const bytes = 27_000_000;
    for (const key of ['one', 'two']) dial(port).socket.write(unfinished(key, bytes));
    await sleep(50);
    expect(await statusOf(unfinished('one', bytes))).toBe(429);
    expect(await statusOf(unfinished('three', bytes))).toBe(429);
    expect(await statusOf(unfinished('one', 60_000_000))).toBe(413);
    // A small one is read, and has no prompt.
    expect(await statusOf(inPieces('one', '{}'))).toBe(400);
  });

  it('is refused for what it sends without a length too, and has its share back after the answer', async () => {
    const json = JSON.stringify({ image_url: `data:image/png;base64,${'A'.repeat(20_000_000)}` });
    const started = inPieces('one', json).slice(0, -100);
    const first = dial(port);
    first.socket.write(started);
    // The gateway counts the bytes when it has read them.
    while ((await statusOf(inPieces('one', json))) !== 429) await sleep(50);
    first.socket.destroy();
    while ((await statusOf(inPieces('one', json))) !== 400) await sleep(50);
  });
});
