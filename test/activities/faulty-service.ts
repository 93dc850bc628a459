import type { Socket } from 'node:net';
import type { Call } from '../../src/contract/failure-table';
import {
  createVideoService,
  type OpenedVideoService,
  type ServiceTimeouts,
  type VideoServiceOptions,
} from '../../src/service';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import type { Emulator } from '../../src/testing';
import type { AnswerFault, EmulatedCall } from '../../src/testing/faults';
import { startRawServer } from '../service/raw-server';

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

/** Addresses where no request is ever acted on. */
export interface OtherAddresses {
  /** No server listens. */
  refused: string;
  /** Reset during the TLS handshake, so no byte of the request has left. */
  'reset before bytes': string;
  /** Reset after the request has left. The client cannot know that the server did not act on it. */
  'reset before acting': string;
}

export type Fault = keyof typeof ANSWERS | keyof OtherAddresses;

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
  others: OtherAddresses,
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
    const baseUrl = isRead(fault) ? url : others[fault];
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

export async function startOtherAddresses(): Promise<OtherAddresses & { close(): Promise<void> }> {
  const onConnection = (socket: Socket) => socket.resetAndDestroy();
  const atOnce = await startRawServer(undefined, onConnection);
  const later = await startRawServer(({ socket }) => socket.resetAndDestroy());
  return {
    refused: `http://${LOOPBACK}:${await freePort()}`,
    'reset before bytes': `https://${LOOPBACK}:${atOnce.port}`,
    'reset before acting': later.url,
    async close() {
      await Promise.all([atOnce.close(), later.close()]);
    },
  };
}
