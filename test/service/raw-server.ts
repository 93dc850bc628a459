import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** One request as it came over the wire. */
export interface RawRequest {
  /** Such as `GET /v1/videos/a%2Fb HTTP/1.1`. */
  line: string;
  headers: Record<string, string>;
  body: string;
  /** 1 for the first connection that the server accepted. */
  connection: number;
  socket: Socket;
}

export interface RawServer {
  url: string;
  port: number;
  requests: RawRequest[];
  /** The next request that this has not returned yet. */
  nextRequest(): Promise<RawRequest>;
  close(): Promise<void>;
}

/** A server that sends any bytes, for answers that no well-behaved server would give. */
export async function startRawServer(
  answer: (request: RawRequest) => void = () => undefined,
  /** Called with each connection before a byte is read. */
  onConnection: (socket: Socket) => void = () => undefined,
): Promise<RawServer> {
  const sockets: Socket[] = [];
  const requests: RawRequest[] = [];
  // Its own responses are never used: they would be well-behaved.
  const server = createServer((request) => {
    const { method, url, headers, socket } = request;
    const line = `${method} ${url} HTTP/1.1`;
    const fields = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const connection = sockets.indexOf(socket) + 1;
    const received = (body: string) => {
      const whole = { line, headers: Object.fromEntries(fields), body, connection, socket };
      requests.push(whole);
      server.emit('whole-request');
      answer(whole);
    };
    void text(request).then(received, () => undefined);
  });
  server.on('clientError', () => undefined);
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let asked = 0;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async nextRequest() {
      const index = asked++;
      for (;;) {
        const request = requests[index];
        if (request) return request;
        await once(server, 'whole-request');
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface Reply {
  status?: number;
  headers?: Record<string, string | number>;
  body?: string | Buffer;
}

/** A complete answer; the connection stays open. */
export function reply({ socket }: RawRequest, { status = 200, headers = {}, body = '{}' }: Reply = {}): void {
  const all = { 'content-length': Buffer.byteLength(body), 'content-type': 'application/json', ...headers };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`HTTP/1.1 ${status} Status\r\n${fields.join('')}\r\n`);
  socket.write(Buffer.concat([head, typeof body === 'string' ? Buffer.from(body) : body]));
}

export function replyJson(request: RawRequest, body: unknown, rest: Omit<Reply, 'body'> = {}): void {
  reply(request, { ...rest, body: JSON.stringify(body) });
}

/** Resolves when the socket is closed. */
export function closed(socket: Socket): Promise<void> {
  // Not `once` of node:events, which rejects when a reset comes before the end.
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
