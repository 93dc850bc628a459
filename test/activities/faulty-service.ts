import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Call } from '../../src/contract/failure-table';
import {
  createVideoService,
  type OpenedVideoService,
  type ServiceTimeouts,
  type VideoServiceOptions,
} from '../../src/service';
import type { Emulator } from '../../src/testing';
import type { AnswerFault, EmulatedCall } from '../../src/testing/faults';

/** Answers of the emulator, which has read the request and, unless it refuses it, acted on it. */
export const ANSWERS = {
  'reset after bytes': { kind: 'reset' },
  'cut in headers': { kind: 'cut-headers' },
  'cut in body': { kind: 'cut-body' },
  hang: { kind: 'hang' },
  429: { kind: 'rate-limited' },
  500: { kind: 'server-error' },
  409: { kind: 'refused', status: 409, message: 'the idempotency key is in use' },
  303: { kind: 'refused', status: 303, message: 'see the task elsewhere' },
  422: { kind: 'refused', status: 422, message: 'the idempotency key is known, or the request is wrong' },
  'bad JSON': { kind: 'bad-json' },
  'empty 200': { kind: 'empty' },
} as const satisfies Record<string, AnswerFault>;

/** Addresses where no request is ever read. */
export interface UnreadAddresses {
  /** No server listens. */
  refused: string;
  /** Reset during the TLS handshake, so no byte of the request has left. */
  'reset before bytes': string;
  /** Reset after the request has left. The client cannot know that the server did not read it. */
  'reset unread': string;
}

export type Fault = keyof typeof ANSWERS | keyof UnreadAddresses;

/** Whether the service reads the request. */
export function isRead(fault: Fault): fault is keyof typeof ANSWERS {
  return Object.hasOwn(ANSWERS, fault);
}

/** Only for hangs, which last until the timeout in real time. On a slow machine any other call would time out too. */
const SHORT_TIMEOUTS: Partial<ServiceTimeouts> = { submit: 300, poll: 300, video: 300 };

const EMULATED: Record<Call, EmulatedCall> = { submit: 'submit', poll: 'status', download: 'download' };

/** A client of the emulator whose calls meet the faults in order, all over real sockets. */
export interface FaultyService extends OpenedVideoService {
  /** Faults for the next calls of a kind. */
  next(call: Call, ...faults: Fault[]): void;
  /** Faults that no call has met yet. */
  unmet(): Fault[];
  /** The idempotency key of each POST, even of one that did not arrive. */
  posts: string[];
}

/** Makes a client of the service at an address. */
export type MakeClient = (options: VideoServiceOptions) => OpenedVideoService;

export function createFaultyService(
  { url, apiKey, next }: Pick<Emulator, 'url' | 'apiKey' | 'next'>,
  unread: UnreadAddresses,
  makeClient: MakeClient = createVideoService,
): FaultyService {
  const faults: Record<Call, Fault[]> = { submit: [], poll: [], download: [] };
  const posts: string[] = [];
  const clientOf = (baseUrl: string, timeouts?: Partial<ServiceTimeouts>) =>
    makeClient({ baseUrl, apiKey: () => apiKey, timeouts });
  const reliable = clientOf(url);

  const meet = async <T>(call: Call, make: (client: OpenedVideoService, baseUrl: string) => Promise<T>) => {
    const fault = faults[call].shift();
    if (fault === undefined) return make(reliable, url);
    if (isRead(fault)) next(EMULATED[call], ANSWERS[fault]);
    if (isRead(fault) && fault !== 'hang') return make(reliable, url);
    const baseUrl = isRead(fault) ? url : unread[fault];
    const client = clientOf(baseUrl, fault === 'hang' ? SHORT_TIMEOUTS : {});
    return make(client, baseUrl).finally(() => client.close());
  };

  return {
    posts,
    next: (call, ...more) => faults[call].push(...more),
    unmet: () => Object.values(faults).flat(),
    start(request, options) {
      posts.push(options.idempotencyKey);
      return meet('submit', (client) => client.start(request, options));
    },
    status: (taskId, options) => meet('poll', (client) => client.status(taskId, options)),
    open: (link, options) =>
      meet('download', (client, baseUrl) => {
        const { pathname, search } = new URL(link);
        return client.open(`${baseUrl}${pathname}${search}`, options);
      }),
    cancel: (taskId, options) => reliable.cancel?.(taskId, options) ?? Promise.resolve('not-offered'),
    close: () => reliable.close(),
  };
}

export async function startUnreadAddresses(): Promise<UnreadAddresses & { close(): Promise<void> }> {
  const atOnce = await listen((socket) => socket.resetAndDestroy());
  const unread = await listenUnread();
  // The local port of an open connection: no server listens there, and none can start to.
  const taken = await listen(() => undefined);
  const taker = connect(taken.port, LOOPBACK);
  await once(taker, 'connect');
  return {
    refused: `http://${LOOPBACK}:${taker.localPort}`,
    'reset before bytes': `https://${LOOPBACK}:${atOnce.port}`,
    'reset unread': `http://${LOOPBACK}:${unread.port}`,
    async close() {
      taker.destroy();
      await Promise.all([atOnce, unread, taken].map(({ close }) => close()));
    },
  };
}

const LOOPBACK = '127.0.0.1';
const REQUEST_SENT = 'undici:request:bodySent';

interface Listener {
  port: number;
  close(): Promise<void>;
}

/**
 * A server that reads nothing does not notice the request. The client runs in this process and reports when the request
 * has left. The connection and the report come in any order.
 */
async function listenUnread(): Promise<Listener> {
  let accepted: Socket | undefined;
  let hasLeft = false;
  const resetIfBoth = () => {
    if (accepted === undefined || !hasLeft) return;
    accepted.resetAndDestroy();
    accepted = undefined;
    hasLeft = false;
  };
  const { port, close } = await listen((socket) => {
    accepted = socket;
    resetIfBoth();
  });
  const onSent = (message: unknown) => {
    const request: unknown = Reflect.get(Object(message), 'request');
    if (Reflect.get(Object(request), 'origin') !== `http://${LOOPBACK}:${port}`) return;
    hasLeft = true;
    resetIfBoth();
  };
  subscribe(REQUEST_SENT, onSent);
  return {
    port,
    close: () => {
      unsubscribe(REQUEST_SENT, onSent);
      return close();
    },
  };
}

async function listen(onConnection: (socket: Socket) => void): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
