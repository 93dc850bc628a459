import type { HttpAnswer, VideoState } from '../../src/service';
import { DIALECT_NAMES, dialectOf } from '../dialects';

const ORIGIN = 'https://cdn.example.com';
export const VIDEO = `${ORIGIN}/v/1.mp4`;

export const queued = (word: string, percent?: number): VideoState => ({ state: 'queued', word, percent });
export const running = (word: string, percent?: number): VideoState => ({ state: 'running', word, percent });
export const succeeded = (word: string, videoUrl?: string): VideoState => ({
  state: 'succeeded',
  word,
  videoUrl,
});
export const failed = (word: string): VideoState => ({ state: 'failed', word });
export const unknown = (word = ''): VideoState => ({ state: 'unknown', word });

const TASK_ID = 'task_0b1c2d3e-1111-4222-8333-444455556666';

/** How each surveyed service answers a submit, and polls of a task that runs, has succeeded and has failed. */
export const PROVIDERS = DIALECT_NAMES.map((name) => {
  const { idOf, accepted, status } = dialectOf(name);
  const taskId = idOf?.(TASK_ID) ?? TASK_ID;
  const task = { id: taskId, request: { prompt: 'A red fox' }, submittedAtMs: 0, origin: ORIGIN };
  const replies = [
    accepted({ ...task, state: 'queued', percent: 0 }),
    status({ ...task, state: 'running', percent: 42 }),
    status({ ...task, state: 'succeeded', videoUrl: VIDEO }),
    status({ ...task, state: 'failed', error: { code: 'E7', message: 'Not this.' } }),
  ];
  const answers = replies.map(
    (reply): HttpAnswer => ({
      status: reply.status ?? 200,
      body: String(reply.body ?? ''),
      baseUrl: ORIGIN,
    }),
  );
  return { name, taskId, answers };
});
