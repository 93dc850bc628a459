import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { sha256 } from '../contract/digest';
import type { VideoObject } from './video-object';
import type { VideosOfCaller } from './videos-of-caller';

const EVERY_MS = 1_000;

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

/** Sends events about a video until it has ended: all, or those after the last one that the client has. */
export async function sendEvents(
  videos: VideosOfCaller,
  taskId: string,
  request: FastifyRequest,
  reply: FastifyReply,
  /** The gateway ends, or the client has left. */
  over: AbortSignal,
): Promise<FastifyReply> {
  // A 404 must be one, not an event.
  const found = await videos.find(taskId);
  const lastId = String(request.headers['last-event-id'] ?? '');
  // By this a browser learns that there is nothing to connect to again for.
  if (found.ending && eventIdOf(JSON.stringify(videos.show(found))) === lastId) return reply.code(204).send();
  reply.header('x-accel-buffering', 'no');
  return reply
    .type('text/event-stream; charset=utf-8')
    .send(Readable.from(eventsOf(videos, taskId, lastId, over)));
}

/** The id of an event is a digest of what it says, so any gateway can resume a stream. */
async function* eventsOf(
  videos: VideosOfCaller,
  taskId: string,
  lastId: string,
  over: AbortSignal,
): AsyncGenerator<string> {
  yield 'retry: 1000\n\n';
  while (!over.aborted) {
    // After an error, the client connects again and gets the reason as an answer.
    const found = await videos.find(taskId).catch(() => undefined);
    const video = found && (await videos.showProgress(found));
    if (video === undefined) return;
    const data = JSON.stringify(video);
    const id = eventIdOf(data);
    if (id !== lastId || hasEnded(video)) yield `id: ${id}\nevent: ${eventOf(video)}\ndata: ${data}\n\n`;
    // Proxies close a connection that is silent for a minute.
    else yield ':\n\n';
    if (hasEnded(video)) return;
    lastId = id;
    await sleep(EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

const eventIdOf = (data: string) => sha256(data).slice(0, 16);

const hasEnded = ({ status }: VideoObject) => status === 'completed' || status === 'failed';

function eventOf(video: VideoObject): string {
  if (hasEnded(video)) return `video.${video.status}`;
  return video.needs_decision ? 'video.needs_decision' : 'video.progress';
}
