import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import type { Reply, TaskFacts } from '../../../../src/testing/dialect';
import { type Imitation, readBy, text, uuidOf } from './words';

const body = z.strictObject({
  model: text,
  prompt: text,
  image: z.strictObject({ url: text }).optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  duration: z.int().min(1).max(15).optional(),
});

/** Grok Imagine. */
export const xai: Imitation = {
  dialect: {
    routes: [
      { method: 'GET', path: /^\/v1\/videos\/([^/]+)$/, call: 'status' },
      {
        method: 'POST',
        path: /^\/v1\/videos\/generations$/,
        call: 'submit',
        read: readBy(body, ({ model: _, image, ...request }) => ({ ...request, image_url: image?.url })),
      },
    ],
    idOf: uuidOf,
    accepted: ({ id }) => ({ body: { request_id: id } }),
    status: statusOf,
    refused: ({ code, message }) => ({
      // So xAI answers to a key that it does not know.
      ...(code === 'unauthorized' && { status: 400 }),
      body: { code, error: message },
    }),
    refusedContent: () => ({ at: 'task', code: 'respect_moderation', message: '' }),
  },
  basePath: '/v1',
  refuses: ['output'],
  expiredStatus: 404,
};

/** While a video is made, the answer is a 202 that may have no body. */
function statusOf({ state, percent, error, request, videoUrl }: TaskFacts): Reply {
  const model = 'grok-imagine-video';
  if (state === 'queued') return { status: 202 };
  if (error?.refuses) {
    return { body: { status: 'done', model, video: { url: '', duration: 0, respect_moderation: false } } };
  }
  if (error) return { body: { status: 'failed', error: { code: error.code, message: error.message } } };
  if (videoUrl === undefined) return { status: 202, body: { status: 'pending', progress: percent } };
  return {
    body: {
      status: 'done',
      model,
      video: { url: videoUrl, duration: request.duration, respect_moderation: true },
      progress: 100,
    },
  };
}
