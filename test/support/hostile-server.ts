import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What one request for a video came with; the first of a server is number 1. */
export interface VideoRequestSeen {
  number: number;
  path: string;
  range?: string;
  ifRange?: string;
  authorization?: string;
}

export type Manners = (seen: VideoRequestSeen, response: ServerResponse, video: ServedVideo) => void;

export interface ServedVideo {
  bytes: Buffer;
  etag: string;
}

export interface HostileServer {
  url: string;
  port: number;
  /** The requests for videos, in order. */
  seen: VideoRequestSeen[];
  /** How often the link was asked for. */
  links(): number;
  close(): Promise<void>;
}

export interface HostileServerOptions {
  video: Buffer;
  manners: Manners;
  /** Where the service says that the video is, the n-th time it is asked; on this server unless set. */
  linkOf?: (ownUrl: string, number: number) => string;
}

/** A video service with one finished task and a file server with the manners of a test. */
export async function startHostileServer({
  video,
  manners,
  linkOf = (url, number) => `${url}/files/video.mp4?signature=s${number}`,
}: HostileServerOptions): Promise<HostileServer> {
  const seen: VideoRequestSeen[] = [];
  let links = 0;
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    if (request.url?.startsWith('/v1/videos/')) {
      links += 1;
      const video_url = linkOf(url, links);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ task_id: 'task', status: 'succeeded', video_url }));
      return;
    }
    const one = describe(request, seen.length + 1);
    seen.push(one);
    manners(one, response, { bytes: video, etag: '"one"' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    seen,
    links: () => links,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function describe({ url = '', headers }: IncomingMessage, number: number): VideoRequestSeen {
  const { range, 'if-range': ifRange, authorization } = headers;
  return { number, path: url, range, ifRange: ifRange?.toString(), authorization };
}

/** As a good file server does it: the whole, or the rest from where it was asked for. */
export const serve: Manners = (seen, response, video) =>
  serveUpTo(seen, response, video, Number.POSITIVE_INFINITY);

/** Ends the connection when it has sent the video up to this offset. */
export function serveUpTo(
  { range, ifRange }: VideoRequestSeen,
  response: ServerResponse,
  { bytes, etag }: ServedVideo,
  offset: number,
): void {
  const from =
    ifRange === undefined || ifRange === etag ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
  const headers = { 'content-type': 'video/mp4', etag, 'content-length': bytes.length - from };
  if (from > 0) {
    response.writeHead(206, {
      ...headers,
      'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
    });
  } else response.writeHead(200, headers);
  send(response, bytes.subarray(from), offset - from);
}

/** Sends a body, or only its beginning and then nothing but the end of the connection. */
export function send(response: ServerResponse, body: Buffer, upTo = Number.POSITIVE_INFINITY): void {
  if (upTo >= body.length) {
    response.end(body);
    return;
  }
  // Not before the bytes have left: a reset would overtake them.
  response.flushHeaders();
  response.write(body.subarray(0, Math.max(0, upTo)), () => response.socket?.end());
}
