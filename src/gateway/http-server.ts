import { createServer, type RequestListener, type Server } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Clients that send slower than this hold a connection for nothing. */
const HEADERS_WITHIN_MS = 15_000;
/** A picture of 20 MB at 170 kB/s. */
const REQUEST_WITHIN_MS = 120_000;
/** A client that takes nothing of its answer for this long is gone, or holds memory for nothing. */
const READ_WITHIN_MS = 30_000;
/** Longer than the minute that proxies keep idle connections: a call must not meet one that is just closed. */
const IDLE_FOR_MS = 72_000;
const LARGEST_HEADERS_BYTES = 16 * 1024;
/** Each of them may follow events or wait for a video. */
export const MOST_CONNECTIONS = 1_000;
/** Clients of today send one request at a time. One packet has room for a thousand. */
const MOST_REQUESTS_AHEAD = 10;

/** Node's server with bounds for what one client, and all of them together, can make it hold. */
export function createHttpServer(listener: RequestListener, headersTimeout = HEADERS_WITHIN_MS): Server {
  const server = createServer(
    {
      headersTimeout,
      requestTimeout: REQUEST_WITHIN_MS,
      keepAliveTimeout: IDLE_FOR_MS,
      maxHeaderSize: LARGEST_HEADERS_BYTES,
      connectionsCheckingInterval: Math.min(headersTimeout, 5_000),
    },
    inTurn(listener),
  );
  server.maxConnections = MOST_CONNECTIONS;
  // Those who keep connections that they do not use leave them to the others.
  server.on('drop', () => server.closeIdleConnections());
  return server;
}

/**
 * Begins a request when the one before it on the same connection has its answer. Node begins all of them at once, and tells
 * only the first when the connection ends: the others would open files and follow events for nobody.
 */
function inTurn(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    if (response.socket) return listener(request, response);
    const { socket } = request;
    const ahead = waiting.get(socket) ?? 0;
    if (ahead >= MOST_REQUESTS_AHEAD) return void socket.destroy();
    waiting.set(socket, ahead + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Node writes what the response has so far once this event is over.
      process.nextTick(() => socket.destroyed || listener(request, response));
    });
    return undefined;
  };
}

/** Ends connections whose client does not read. Node counts what the client takes as activity. */
export function endUnreadAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw: { socket } }) => {
    if (socket instanceof Socket) socket.setTimeout(READ_WITHIN_MS);
  });
}
