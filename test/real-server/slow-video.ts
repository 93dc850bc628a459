import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The first bytes are there at the first heartbeat. The others come slowly enough for any machine, and not too slowly for us. */
export const SLOW_VIDEO_BYTES = 5_000_000;
const FIRST_BYTES = 100_000;
const DRIP = { bytes: 16 * 1024, everyMs: 1_000 };

export interface SlowVideo {
  url: string;
  /** The `Range` and `If-Range` of each request for the video. */
  requests: [range: string | undefined, ifRange: string | undefined][];
  /** What is downloaded. */
  bytes: Buffer;
  close(): Promise<void>;
}

/** A service with one task that has succeeded. Its video drips at the first request, and is quick at the others. */
export async function startSlowVideo(): Promise<SlowVideo> {
  const requests: SlowVideo['requests'] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/v1/')) {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ task_id: 'task', status: 'succeeded', video_url: `${slow.url}/fox.mp4` }),
      );
      return;
    }
    const { range, 'if-range': ifRange } = request.headers;
    const isFirst = requests.push([range, ifRange?.toString()]) === 1;
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const { length } = slow.bytes;
    response.writeHead(from > 0 ? 206 : 200, {
      'content-type': 'video/mp4',
      'content-length': length - from,
      etag: '"one"',
      ...(from > 0 && { 'content-range': `bytes ${from}-${length - 1}/${length}` }),
    });
    if (isFirst) void drip(response, slow.bytes);
    else response.end(slow.bytes.subarray(from));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const slow: SlowVideo = {
    url: `http://127.0.0.1:${port}`,
    requests,
    bytes: Buffer.alloc(0),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return slow;
}

async function drip(response: ServerResponse, bytes: Buffer): Promise<void> {
  response.on('error', () => undefined);
  response.write(bytes.subarray(0, FIRST_BYTES));
  for (let at = FIRST_BYTES; at < bytes.length && !response.destroyed; at += DRIP.bytes) {
    response.write(bytes.subarray(at, at + DRIP.bytes));
    await sleep(DRIP.everyMs, undefined, { ref: false });
  }
}
