import { randomUUID } from 'node:crypto';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { type JobPhase, type VideoClient, VideoFailure, type VideoJob } from 'temporal-videogen';
import { NoSuchVideo, sendError } from './send-error';

/** The videos of this service have names of their own: it must not tell of, or cancel, somebody else's workflow. */
const nameOf = (id: string) => `web-video-${id}`;

/** Temporal's own bound for names is 1000. */
const LONGEST_KEY = 255;

const ENDS: readonly JobPhase[] = ['succeeded', 'failed', 'cancelled'];

/** Videos over HTTP. Whatever it knows is in Temporal: it can be restarted, and run as often as one likes. */
export function createApp(videos: VideoClient): Express {
  const app = express().use(express.json());

  const find = async (id: string): Promise<VideoJob> => {
    const job = videos.handle(nameOf(id));
    if (!(await job.exists())) throw new NoSuchVideo(`There is no video ${id}.`);
    return job;
  };

  /** A POST that is repeated under its key is the same video, and is paid for once. */
  app.post('/videos', async (request, response) => {
    const id = request.get('idempotency-key') || randomUUID();
    if (id.length > LONGEST_KEY) {
      throw new VideoFailure('InvalidRequest', { message: `Idempotency-Key is longer than ${LONGEST_KEY}` });
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
    // The result of a failed one is its failure, which the last lines of this file tell.
    const result = ENDS.includes(progress.phase) ? await job.result() : undefined;
    response.json({ id, ...progress, result });
  });

  app.get('/videos/:id/events', async ({ params: { id } }, response) => {
    const job = await find(id);
    const left = new AbortController();
    response.on('close', () => left.abort());
    response.type('text/event-stream').set('cache-control', 'no-cache');
    const send = (event: string, data: object) =>
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    for await (const progress of job.follow({ signal: left.signal })) send('progress', progress);
    if (left.signal.aborted) return;
    await job.result().then(
      (result) => send('succeeded', result),
      (error) => send('failed', sendError(error).body),
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
    // Express ends a connection on which something has been sent already.
    if (response.headersSent) return next(error);
    const { status, body } = sendError(error);
    response.status(status).json(body);
  });

  return app;
}
