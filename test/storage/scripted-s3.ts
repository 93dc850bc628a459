import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createS3Storage, type S3StorageOptions, type VideoStorage } from '../../src/storage';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

export interface S3Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** No answer ever comes. */
  isNever?: true;
}

export interface ScriptedS3 {
  readonly endpoint: string;
  /** What was asked so far, each as `METHOD /path?query`, in the order it came. */
  readonly calls: string[];
  /** The headers of the last call that has this text in it. */
  headersOf(part: string): Record<string, unknown>;
  /** A storage in its bucket `videos`. */
  storage(options?: Partial<S3StorageOptions>): VideoStorage;
  stop(): Promise<void>;
}

export const s3Error = (status: number, code: string, message = 'no', more = ''): S3Answer => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`,
});

/** An S3 server that answers as a test says, and everything else with an empty 200. */
export async function startScriptedS3(
  answerTo: (call: string) => S3Answer | undefined = () => undefined,
): Promise<ScriptedS3> {
  const asked: { call: string; headers: Record<string, unknown> }[] = [];
  const server = createServer((request, answer) => {
    const call = `${request.method} ${decodeURIComponent(request.url ?? '')}`;
    asked.push({ call, headers: request.headers });
    request.resume().once('end', () => {
      const { status = 200, headers = {}, body = '', isNever } = answerTo(call) ?? {};
      if (isNever) return;
      answer.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body);
    });
  });
  const { endpoint, stop } = await listen(server);
  return {
    endpoint,
    stop,
    get calls() {
      return asked.map(({ call }) => call);
    },
    headersOf: (part) => asked.findLast(({ call }) => call.includes(part))?.headers ?? {},
    storage: (options) =>
      createS3Storage({
        bucket: 'videos',
        endpoint,
        region: 'us-east-1',
        pathStyle: true,
        credentials: { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' },
        ...options,
      }),
  };
}

export interface S3Proxy {
  readonly endpoint: string;
  stop(): Promise<void>;
}

async function listen(server: Server): Promise<S3Proxy> {
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  return {
    endpoint: `http://${LOOPBACK}:${port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type Matches = (call: string) => boolean;
export interface S3Faults {
  refuse?: Matches;
  delay?: Matches;
  lose?: Matches;
  /** Called when the server has done a delayed call, before its answer is passed on. */
  onDelay?: () => void;
}

const none: Matches = () => false;

/** A proxy before an S3 server that spoils some calls. Each is given as `METHOD /path?query`. */
export async function startS3Proxy(
  upstream: string,
  { refuse = none, delay = none, lose = none, onDelay = () => undefined }: S3Faults,
): Promise<S3Proxy> {
  const server = createServer();
  for (const event of ['request', 'checkContinue']) {
    server.on(event, (incoming: IncomingMessage, answer: ServerResponse) => {
      const call = `${incoming.method} ${incoming.url}`;
      if (refuse(call)) refuseCall(incoming, answer);
      else passOn(upstream, incoming, answer, { late: delay(call), lost: lose(call), onDelay });
    });
  }
  return listen(server);
}

function refuseCall(incoming: IncomingMessage, answer: ServerResponse): void {
  if (incoming.headers.expect !== undefined) answer.writeContinue();
  incoming.resume().once('end', () => {
    answer.writeHead(403, { 'content-type': 'application/xml' });
    answer.end('<Error><Code>AccessDenied</Code><Message>not today</Message></Error>');
  });
}

interface PassOptions {
  late: boolean;
  onDelay: () => void;
  lost: boolean;
}

function passOn(upstream: string, incoming: IncomingMessage, answer: ServerResponse, how: PassOptions): void {
  const { method, headers } = incoming;
  // The host header is signed, so it is passed on unchanged.
  const onward = request(new URL(incoming.url ?? '/', upstream), { method, headers });
  let isAnswered = false;
  onward.on('error', () => {
    // A server that has refused a call may close the connection at once; its answer still counts.
    if (!isAnswered) answer.destroy();
  });
  onward.once('response', async (response) => {
    isAnswered = true;
    if (how.late) {
      how.onDelay();
      // Much longer than it takes to discard a video without waiting for this answer.
      await sleep(500);
    }
    if (how.lost) {
      answer.destroy();
      return;
    }
    answer.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(answer);
  });
  if (headers.expect === undefined) incoming.pipe(onward);
  else {
    // A server that refuses a call closes the connection if the body comes before its 100 Continue.
    onward.flushHeaders();
    onward.once('continue', () => {
      answer.writeContinue();
      incoming.pipe(onward);
    });
  }
}
