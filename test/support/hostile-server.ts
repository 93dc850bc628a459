import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request for a video. */
export interface AskedVideo {
  path: string;
  range?: string;
  ifRange?: string;
  authorization?: string;
  /** The number of the link it used; the first is 1. */
  link: number;
  /** Resolves when the answer ends or its connection closes. */
  closed: Promise<unknown>;
}

export interface ServedVideo {
  taskId: string;
  bytes: Buffer;
  etag: string;
}

/** Answers one request for a video. */
export type Answer = (response: ServerResponse, video: ServedVideo, asked: AskedVideo) => void;

export interface HostileTask {
  bytes: Buffer;
  /** One per request for the video. The last one is repeated. */
  answers: readonly Answer[];
  /** The link to the video, instead of a path on this server. */
  link?: string;
}

/** The requests about one task. */
export interface Requests {
  videos: AskedVideo[];
  /** How many links the service returned. */
  links: number;
}

export interface HostileServer {
  url: string;
  port: number;
  /** Adds a succeeded task. Its video is at `/files/<taskId>/`. */
  add(taskId: string, task: HostileTask): Requests;
  close(): Promise<void>;
}

/** A video service whose tasks have all succeeded, with a file server that answers as each test says. */
export async function startHostileServer(): Promise<HostileServer> {
  const tasks = new Map<string, HostileTask & { requests: Requests }>();
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    const [, root, taskId = ''] = /^\/(v1\/videos|files)\/([^/?]+)/.exec(request.url ?? '') ?? [];
    const task = tasks.get(taskId);
    if (task === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { requests, bytes, answers, link } = task;
    if (root !== 'files') {
      requests.links += 1;
      const video_url = link ?? `${url}/files/${taskId}/video.mp4?signature=${requests.links}`;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ task_id: taskId, status: 'succeeded', video_url }));
      return;
    }
    const asked = askedVideo(request, response);
    const answer = answers[Math.min(requests.videos.push(asked), answers.length) - 1];
    answer?.(response, { taskId, bytes, etag: '"one"' }, asked);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    add(taskId, task) {
      const requests = { videos: [], links: 0 };
      tasks.set(taskId, { ...task, requests });
      return requests;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function askedVideo({ url = '', headers }: IncomingMessage, response: ServerResponse): AskedVideo {
  const { range, 'if-range': ifRange, authorization } = headers;
  const link = Number(/[?&]signature=(\d+)/.exec(url)?.[1]);
  const closed = once(response, 'close').catch(() => undefined);
  return { path: url, range, ifRange: ifRange?.toString(), authorization, link, closed };
}
