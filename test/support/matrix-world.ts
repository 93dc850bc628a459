import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure, type Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { type Call, fromTemporalType } from '../../src/contract/failure-table';
import {
  type AnswerFault,
  type EmulatedCall,
  type Emulator,
  type EmulatorOptions,
  startEmulator,
} from '../../src/emulator';
import { createVideoService, type ServiceTimeouts, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { VideoTestEnvironment } from '../../src/testing';
import { bundlePath } from './world';

/** Answers of the emulator, which has read the request and, unless it refuses it, acted on it. */
const ANSWERS = {
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
interface UnreadAddresses {
  /** No server listens. */
  refused: string;
  /** Reset during the TLS handshake, so no byte of the request has left. */
  'reset before bytes': string;
  /** Reset after the request has left. The client cannot know that the server did not read it. */
  'reset unread': string;
}

export type MatrixFault = keyof typeof ANSWERS | keyof UnreadAddresses;

/** Whether the service reads the request. */
export function isRead(fault: MatrixFault): fault is keyof typeof ANSWERS {
  return Object.hasOwn(ANSWERS, fault);
}

/** Only for hangs, which last until the timeout in real time. On a slow machine any other call would time out too. */
const SHORT_TIMEOUTS: Partial<ServiceTimeouts> = {
  submit: { headersTimeout: 300, bodyTimeout: 300 },
  poll: { headersTimeout: 300, bodyTimeout: 300 },
  video: { headersTimeout: 300, bodyTimeout: 300 },
};

const EMULATED: Record<Call, EmulatedCall> = { submit: 'submit', poll: 'status', download: 'download' };

/** The service of one job. */
export interface MatrixCell {
  emulator: Emulator;
  /** Faults for the next calls of a kind, in order. */
  next(call: Call, ...faults: MatrixFault[]): void;
  /** Faults that no call has met yet. */
  unmet(): MatrixFault[];
  /** The idempotency key of each POST, even of one that did not arrive. */
  posts: string[];
  /** How each attempt at a call ended: `ok`, or the failure type. */
  attempts: Record<Call, string[]>;
}

/** One worker for many jobs, each with its own service. */
export interface MatrixWorld {
  videos: VideoClient;
  inCell(options: EmulatorOptions, work: (cell: MatrixCell) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function startMatrixWorld(env: VideoTestEnvironment): Promise<MatrixWorld> {
  const unread = await startUnreadAddresses();
  const storageFolder = await mkdtemp(join(tmpdir(), 'videogen-matrix-'));
  const taskQueue = `matrix-${randomUUID()}`;
  let current: { cell: MatrixCell; service: VideoService } | undefined;
  const inUse = () => {
    if (current === undefined) throw new Error('a job is running outside its cell');
    return current;
  };
  const worker = await env.createWorker({
    taskQueue,
    submitQueue: taskQueue,
    service: {
      submit: async (...args) => inUse().service.submit(...args),
      poll: async (...args) => inUse().service.poll(...args),
      openVideo: async (...args) => inUse().service.openVideo(...args),
      cancel: async (...args) => inUse().service.cancel(...args),
      close: async () => undefined,
    },
    storage: createFileStorage(storageFolder),
    worker: {
      workflowBundle: { codePath: bundlePath() },
      interceptors: {
        activity: [(context) => ({ inbound: recordAttempts(context, () => inUse().cell.attempts) })],
      },
    },
  });
  const running = worker.run();
  return {
    videos: await createVideoClient({ client: env.temporal.client, taskQueue, submitQueue: taskQueue }),
    async inCell(options, work) {
      const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024, ...options });
      const faults: Record<Call, MatrixFault[]> = { submit: [], poll: [], download: [] };
      const cell: MatrixCell = {
        emulator,
        posts: [],
        attempts: { submit: [], poll: [], download: [] },
        next: (call, ...more) => faults[call].push(...more),
        unmet: () => Object.values(faults).flat(),
      };
      const service = faultyService(cell, faults, unread);
      current = { cell, service };
      try {
        await work(cell);
      } finally {
        current = undefined;
        await service.close();
        await emulator.close();
      }
    },
    async close() {
      worker.shutdown();
      await running;
      await unread.close();
      await rm(storageFolder, { recursive: true, force: true });
    },
  };
}

/** Records how each attempt ended: Temporal's history has no event for an attempt that is retried. */
function recordAttempts(
  { info }: Context,
  attempts: () => MatrixCell['attempts'],
): ActivityInboundCallsInterceptor {
  const call = CALL_OF[info.activityType];
  const record = (end: string) => call && attempts()[call].push(end);
  return {
    async execute(input, next) {
      try {
        const result = await next(input);
        record('ok');
        return result;
      } catch (error) {
        record((error instanceof ApplicationFailure && fromTemporalType(error.type)) || String(error));
        throw error;
      }
    },
  };
}

const CALL_OF: Record<string, Call> = {
  submitVideo: 'submit',
  pollVideo: 'poll',
  downloadVideo: 'download',
};

/** A client of the emulator whose calls meet the faults, all over real sockets. */
function faultyService(
  { emulator: { url, apiKey, next }, posts }: MatrixCell,
  faults: Record<Call, MatrixFault[]>,
  unread: UnreadAddresses,
): VideoService {
  const clientOf = (baseUrl: string, timeouts?: Partial<ServiceTimeouts>) =>
    createVideoService({ baseUrl, apiKey: () => apiKey, timeouts });
  const reliable = clientOf(url);

  const meet = async <T>(call: Call, make: (client: VideoService, baseUrl: string) => Promise<T>) => {
    const fault = faults[call].shift();
    if (fault === undefined) return make(reliable, url);
    if (isRead(fault)) next(EMULATED[call], ANSWERS[fault]);
    if (isRead(fault) && fault !== 'hang') return make(reliable, url);
    const baseUrl = isRead(fault) ? url : unread[fault];
    const client = clientOf(baseUrl, fault === 'hang' ? SHORT_TIMEOUTS : {});
    return make(client, baseUrl).finally(() => client.close());
  };

  return {
    submit(request, options) {
      posts.push(options.idempotencyKey);
      return meet('submit', (client) => client.submit(request, options));
    },
    poll: (taskId, options) => meet('poll', (client) => client.poll(taskId, options)),
    openVideo: (link, options) =>
      meet('download', (client, baseUrl) => {
        const { pathname, search } = new URL(link);
        return client.openVideo(`${baseUrl}${pathname}${search}`, options);
      }),
    cancel: (taskId, options) => reliable.cancel(taskId, options),
    close: () => reliable.close(),
  };
}

async function startUnreadAddresses(): Promise<UnreadAddresses & { close(): Promise<void> }> {
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
