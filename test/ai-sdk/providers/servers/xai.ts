import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import { dialectOf } from '../../../dialects';
import { type Imitation, readBy, text } from './words';

const body = z.strictObject({
  model: text,
  prompt: text,
  image: z.strictObject({ url: text }).optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  duration: z.int().min(1).max(15).optional(),
});

const words = dialectOf('xai');

/** Grok Imagine. */
export const xai: Imitation = {
  dialect: {
    ...words,
    routes: [
      { method: 'GET', path: /^\/v1\/videos\/([^/]+)$/, call: 'status' },
      {
        method: 'POST',
        path: /^\/v1\/videos\/generations$/,
        call: 'submit',
        read: readBy(body, ({ model: _, image, ...request }) => ({ ...request, image_url: image?.url })),
      },
    ],
    // So xAI answers to a key that it does not know.
    refused: (refusal) => ({
      ...words.refused(refusal),
      ...(refusal.code === 'unauthorized' && { status: 400 }),
    }),
  },
  basePath: '/v1',
  refuses: ['output'],
  expiredStatus: 404,
};
