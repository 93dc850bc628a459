import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import { bearerKey, type Imitation, ids, type Refusal, text, understand } from './imitation';

const body = z.strictObject({
  model: text,
  prompt: text,
  image: z.strictObject({ url: text }).optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  duration: z.int().min(1).max(15).optional(),
});

const ERRORS: Record<Refusal['reason'], [status: number, code: string, error: string]> = {
  // Not 401: so xAI answers to a key that it does not know.
  'wrong-key': [
    400,
    'Client specified an invalid argument',
    'Incorrect API key provided. You can obtain an API key from https://console.x.ai.',
  ],
  'no-such-path': [404, 'Not Found', 'The requested resource was not found.'],
  'no-such-task': [404, 'Some requested entity was not found', 'The request id is unknown.'],
  'wrong-body': [400, 'Client specified an invalid argument', 'The request body is invalid.'],
  'rate-limited': [429, 'Some resource has been exhausted', 'Too many requests.'],
  'server-error': [500, 'Internal error', 'An internal error occurred.'],
};

/** Grok Imagine. While a video is made, the answer is a 202 that may have no body. */
export const xai: Imitation = {
  basePath: '/v1',
  route: ({ method, path }) => {
    const [, id] = /^\/v1\/videos\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    return method === 'POST' && path === '/v1/videos/generations' ? { call: 'submit' } : undefined;
  },
  keyOf: bearerKey,
  understand: (call) =>
    understand(body, call.body, ({ prompt, image, aspect_ratio, resolution, duration }) => ({
      prompt,
      image_url: image?.url,
      resolution,
      aspect_ratio,
      duration,
    })),
  idOf: ids.uuidOf,
  accepted: ({ id }) => ({ status: 200, body: { request_id: id } }),
  status: (task) => {
    switch (task.state) {
      case 'queued':
        return { status: 202 };
      case 'running':
        return { status: 202, body: { status: 'pending', progress: task.percent } };
      case 'failed':
        return task.error.refuses
          ? {
              status: 200,
              body: {
                status: 'done',
                video: { url: '', duration: 0, respect_moderation: false },
                model: 'grok-imagine-video',
              },
            }
          : {
              status: 200,
              body: { status: 'failed', error: { code: task.error.code, message: task.error.message } },
            };
      case 'succeeded':
        return {
          status: 200,
          body: {
            status: 'done',
            video: { url: task.videoUrl, duration: task.request.duration, respect_moderation: true },
            model: 'grok-imagine-video',
            usage: { cost_in_usd_ticks: 2_500_000_000 },
            progress: 100,
          },
        };
    }
  },
  refused: ({ reason, status, message }) => {
    const [usual, code, error] = ERRORS[reason];
    return {
      status: status ?? usual,
      body: { code, error: message ?? error },
    };
  },
  policy: {
    output: { at: 'task', failure: { code: 'respect_moderation', message: '', refuses: 'output' } },
  },
  expiredLink: { status: 404, contentType: 'text/plain', body: 'Not Found' },
  linkPath: (token) => `/xai-video/${token}.mp4`,
};
