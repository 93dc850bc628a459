import { randomUUID } from 'node:crypto';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { JobProgress, VideoClient, VideoJob } from 'temporal-videogen';
import { VideoFailure } from 'temporal-videogen/failures';
import { NoSuchVideo, toHttpError } from './http-error';

/** A prefix keeps callers from reading or cancelling other workflows of the namespace. */
const nameOf = (id: string) => `web-video-${id}`;

/** Well below Temporal's limit of 1000 for a workflow id. */
const LONGEST_KEY_CHARS = 255;

const ENDS: readonly JobProgress['phase'][] = ['succeeded', 'failed', 'cancelled'];

/** Videos over HTTP. All state is in Temporal, so it can restart at any time and run in many copies. */
export function createApp(videos: VideoClient): Express {
  const app = express().use(express.json());

  const find = async (id: string): Promise<VideoJob> => {
    if (!(await videos.find(nameOf(id)))) throw new NoSuchVideo(`There is no video ${id}.`);
    return videos.handle(nameOf(id));
  };

  /** A repeated POST with the same key is the same video and is paid for once. */
  app.post('/videos', async (request, response) => {
    const id = request.get('idempotency-key') || randomUUID();
    if (id.length > LONGEST_KEY_CHARS) {
      const message = `Idempotency-Key has more than ${LONGEST_KEY_CHARS} characters`;
      throw new VideoFailure('InvalidRequest', { message });
    }
    await videos.start({ request: request.body ?? {} }, { workflowId: nameOf(id) });
    response
      .status(202)
      .location(`/videos/${encodeURIComponent(id)}`)
      .json({ id });
  });

  app.get('/videos/:id', async ({ params: { id } }, response) => {
    const job = await find(id);
    const progress = await job.progress();
    // For a failed video this throws its failure, which the error handler below sends.
    const result = ENDS.includes(progress.phase) ? await job.result() : undefined;
    response.json({ id, ...progress, result });
  });

  app.get('/videos/:id/events', async ({ params: { id } }, response) => {
    const job = await find(id);
    const disconnected = new AbortController();
    response.on('close', () => disconnected.abort());
    response.type('text/event-stream').set('cache-control', 'no-cache');
    const send = (event: string, data: object) =>
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    for await (const progress of job.follow({ signal: disconnected.signal })) send('progress', progress);
    if (disconnected.signal.aborted) return;
    await job.result().then(
      (result) => send('succeeded', result),
      (error) => send('failed', toHttpError(error).body),
    );
    response.end();
  });

  app.post('/videos/:id/decision', async ({ params: { id }, body }, response) => {
    const job = await find(id);
    await job.decideSubmit(body);
    response.status(204).end();
  });

  app.delete('/videos/:id', async ({ params: { id } }, response) => {
    const job = await find(id);
    await job.cancel();
    response.status(202).json({ id });
  });

  app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    // Once headers are sent, Express can only close the connection.
    if (response.headersSent) return next(error);
    const { status, body } = toHttpError(error);
    response.status(status).json(body);
  });

  return app;
}
