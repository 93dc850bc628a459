import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

export interface S3Proxy {
  readonly endpoint: string;
  stop(): Promise<void>;
}

type Matches = (call: string) => boolean;
export interface Spoiling {
  refuse?: Matches;
  delay?: Matches;
  lose?: Matches;
  /** The server has done what a delayed call asks for, and its answer is held back. */
  onDelay?: () => void;
  /** Calls that are to find nothing under their key, as on a server that ignores their If-None-Match. */
  overwrite?: Matches;
  /** Takes away what is under the key of such a call. */
  remove?: (path: string) => Promise<unknown>;
}

const none: Matches = () => false;

/** Stands before an S3 server and spoils some calls, each told as `METHOD /path?query`. */
export async function startS3Proxy(
  upstream: string,
  {
    refuse = none,
    delay = none,
    lose = none,
    onDelay = () => undefined,
    overwrite = none,
    remove = async () => undefined,
  }: Spoiling,
): Promise<S3Proxy> {
  const server = createServer();
  for (const event of ['request', 'checkContinue']) {
    server.on(event, async (incoming: IncomingMessage, answer: ServerResponse) => {
      const call = `${incoming.method} ${incoming.url}`;
      // The header is a part of what was signed, and so cannot be taken away.
      if (incoming.headers['if-none-match'] !== undefined && overwrite(call)) {
        await remove(new URL(incoming.url ?? '/', upstream).pathname);
      }
      if (refuse(call)) refuseCall(incoming, answer);
      else passOn(upstream, incoming, answer, { late: delay(call), lost: lose(call), onDelay });
    });
  }
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

function refuseCall(incoming: IncomingMessage, answer: ServerResponse): void {
  if (incoming.headers.expect !== undefined) answer.writeContinue();
  incoming.resume().once('end', () => {
    answer.writeHead(403, { 'content-type': 'application/xml' });
    answer.end('<Error><Code>AccessDenied</Code><Message>not today</Message></Error>');
  });
}

interface How {
  late: boolean;
  onDelay: () => void;
  lost: boolean;
}

function passOn(upstream: string, incoming: IncomingMessage, answer: ServerResponse, how: How): void {
  const { method, headers } = incoming;
  // The host header is a part of what was signed and goes on as it came.
  const onward = request(new URL(incoming.url ?? '/', upstream), { method, headers });
  let isAnswered = false;
  onward.on('error', () => {
    // A server that has refused a call may close the line at once, and what it said still counts.
    if (!isAnswered) answer.destroy();
  });
  onward.once('response', async (response) => {
    isAnswered = true;
    if (how.late) {
      how.onDelay();
      // Long beside what it takes to discard a video without waiting for this answer.
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
    // A server that refuses a call closes the line on whoever sends the rest of it unasked.
    onward.flushHeaders();
    onward.once('continue', () => {
      answer.writeContinue();
      incoming.pipe(onward);
    });
  }
}
