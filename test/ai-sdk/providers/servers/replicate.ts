import { z } from 'zod';
import { ASPECT_RATIOS } from '../../../../src/contract/request';
import type { Reply, TaskFacts } from '../../../../src/testing/dialect';
import { hexOf } from '../../../dialects/service-words';
import { type Imitation, readBy, resolutionOf, text } from './words';

const body = z.object({
  input: z.object({
    prompt: text,
    image: z.string().optional(),
    size: z.string().optional(),
    aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
    duration: z.int().optional(),
    seed: z.int().optional(),
  }),
  webhook: z.url().optional(),
  webhook_events_filter: z.array(z.string()).optional(),
});

const WORDS: Partial<Record<TaskFacts['state'], string>> = { queued: 'starting', running: 'processing' };

/** Replicate's predictions of an official model. */
export const replicate: Imitation = {
  dialect: {
    routes: [
      { method: 'GET', path: /^\/v1\/predictions\/([^/]+)$/, call: 'status' },
      {
        method: 'POST',
        path: /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/,
        call: 'submit',
        read: readBy(body, ({ input: { image, size, ...request } }) => ({
          ...request,
          image_url: image,
          resolution: resolutionOf(size),
        })),
      },
    ],
    idOf: (taskId) => hexOf(taskId).slice(0, 26),
    accepted: (task) => prediction(201, task),
    status: (task) => prediction(200, task),
    refused: ({ status, code, message }) => ({ body: { title: code, detail: message, status } }),
    // It does not say whether it was the prompt or the video.
    refusedContent: () => ({
      at: 'task',
      code: '',
      message: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
    }),
  },
  basePath: '/v1',
  refuses: ['prompt', 'output'],
  expiredStatus: 404,
};

function prediction(status: number, task: TaskFacts): Reply {
  const { id, origin, submittedAtMs, state, videoUrl, error, request } = task;
  return {
    status,
    body: {
      id,
      model: 'bytedance/seedance-1-lite',
      input: { prompt: request.prompt },
      output: videoUrl ?? null,
      error: error?.message ?? null,
      status: WORDS[state] ?? state,
      created_at: new Date(submittedAtMs).toISOString(),
      urls: { get: `${origin}/v1/predictions/${id}`, cancel: `${origin}/v1/predictions/${id}/cancel` },
    },
  };
}
