import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { VideoObject } from './video-object';
import type { VideosOfCaller } from './videos-of-caller';

const EVERY_MS = 1_000;
/** Proxies close a connection that is silent for a minute. */
const COMMENT_EVERY_MS = 15_000;

export const eventHeaders = z.object({
  'last-event-id': z.string().optional().describe('The id of the last event that the client has.'),
});

export const EVENT_ANSWERS = {
  200: {
    description: 'Server-sent events until the video has ended. The data of each is a Video.',
    content: {
      'text/event-stream': {
        schema: {
          type: 'object',
          required: ['id', 'event', 'data'],
          properties: {
            id: { type: 'string', description: 'For Last-Event-ID.' },
            event: {
              enum: ['video.progress', 'video.needs_decision', 'video.completed', 'video.failed'],
            },
            data: {
              type: 'string',
              contentMediaType: 'application/json',
              contentSchema: { $ref: '#/components/schemas/Video' },
            },
          },
        },
      },
    },
  },
  204: { description: 'The video has ended, and the client has the last event.', type: 'null' },
} as const;

/**
 * Server-sent events about a video until it has ended. The id of an event is a digest of what it says, so any gateway can
 * resume a stream: it sends the state unless the client has it already.
 */
export async function sendEvents(
  videos: VideosOfCaller,
  taskId: string,
  request: FastifyRequest,
  reply: FastifyReply,
  /** The gateway ends, or the client has left. */
  over: AbortSignal,
): Promise<void> {
  // A 404 must be one, not an event.
  const found = await videos.find(taskId);
  const lastSeen = String(request.headers['last-event-id'] ?? '');
  if (found.ending !== undefined && eventIdOf(JSON.stringify(videos.show(found))) === lastSeen) {
    // By this a browser learns that there is nothing to connect to again for.
    reply.code(204).send();
    return;
  }
  reply.hijack();
  const { raw } = reply;
  // A query without a worker takes seconds, for which nobody has to wait.
  over.addEventListener('abort', () => raw.end());
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) raw.setHeader(name, value);
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 1000\n\n');
  let lastId = lastSeen;
  let spokeAtMs = performance.now();
  try {
    while (!over.aborted) {
      const video = await videos.showProgress(await videos.find(taskId));
      if (over.aborted) break;
      const data = JSON.stringify(video);
      const id = eventIdOf(data);
      if (id !== lastId || hasEnded(video)) {
        raw.write(`id: ${id}\nevent: ${eventOf(video)}\ndata: ${data}\n\n`);
        lastId = id;
        spokeAtMs = performance.now();
      } else if (performance.now() - spokeAtMs > COMMENT_EVERY_MS) {
        raw.write(': still there\n\n');
        spokeAtMs = performance.now();
      }
      if (hasEnded(video)) break;
      await sleep(EVERY_MS, undefined, { signal: over }).catch(() => undefined);
    }
  } catch {
    // The client connects again and gets the reason as an answer.
  }
  raw.end();
}

const eventIdOf = (data: string) => createHash('sha256').update(data).digest('hex').slice(0, 16);

const hasEnded = ({ status }: VideoObject) => status === 'completed' || status === 'failed';

function eventOf(video: VideoObject): string {
  if (hasEnded(video)) return `video.${video.status}`;
  return video.needs_decision ? 'video.needs_decision' : 'video.progress';
}
