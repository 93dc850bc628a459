import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpServer } from '../../src/gateway/http-server';

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
  return { begun, ...dial(port) };
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
