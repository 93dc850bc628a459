import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request for a video. */
export interface AskedVideo {
  path: string;
  range?: string;
  ifRange?: string;
  authorization?: string;
  /** Which of the task's links it came by; the first one is 1. */
  link: number;
  /** When the answer is over, or its connection is. */
  closed: Promise<unknown>;
}

export interface ServedVideo {
  taskId: string;
  bytes: Buffer;
  etag: string;
}

/** What is said to one request for a video. */
export type Answer = (response: ServerResponse, video: ServedVideo, asked: AskedVideo) => void;

export interface HostileTask {
  bytes: Buffer;
  /** One for each request for the video; the last one for every request after it, too. */
  answers: readonly Answer[];
  /** Where the video is, in place of a path on this server. */
  link?: string;
}

/** How a task was asked for. */
export interface Asking {
  videos: AskedVideo[];
  /** How many links were given out. */
  links: number;
}

export interface HostileServer {
  url: string;
  port: number;
  /** A task that has succeeded; its video is at `/files/<taskId>/`. */
  add(taskId: string, task: HostileTask): Asking;
  close(): Promise<void>;
}

/** A video service whose tasks have all succeeded, with a file server that has the manners of each test. */
export async function startHostileServer(): Promise<HostileServer> {
  const tasks = new Map<string, HostileTask & { asking: Asking }>();
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    const [, place, taskId = ''] = /^\/(v1\/videos|files)\/([^/?]+)/.exec(request.url ?? '') ?? [];
    const task = tasks.get(taskId);
    if (task === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { asking, bytes, answers, link } = task;
    if (place !== 'files') {
      asking.links += 1;
      const video_url = link ?? `${url}/files/${taskId}/video.mp4?signature=${asking.links}`;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ task_id: taskId, status: 'succeeded', video_url }));
      return;
    }
    const asked = askedVideo(request, response);
    const answer = answers[Math.min(asking.videos.push(asked), answers.length) - 1];
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
      const asking = { videos: [], links: 0 };
      tasks.set(taskId, { ...task, asking });
      return asking;
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
