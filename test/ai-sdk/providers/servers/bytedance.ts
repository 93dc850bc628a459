import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import {
  bearerKey,
  EXPIRED_SIGNATURE,
  type Imitation,
  ids,
  type Refusal,
  text,
  toSeconds,
  understand,
} from './imitation';

const body = z.strictObject({
  model: text,
  content: z
    .array(
      z.union([
        z.strictObject({ type: z.literal('text'), text }),
        z.strictObject({ type: z.literal('image_url'), image_url: z.object({ url: text }) }),
      ]),
    )
    .min(1),
  ratio: z.enum(ASPECT_RATIOS).optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  duration: z.int().min(2).max(12).optional(),
  seed: z.int().optional(),
});

const ERRORS: Record<Refusal['reason'], [status: number, type: string, code: string, message: string]> = {
  'no-key': [
    401,
    'Unauthorized',
    'AuthenticationError',
    'The API key or AK/SK in the request is missing or invalid.',
  ],
  'wrong-key': [
    401,
    'Unauthorized',
    'AuthenticationError',
    'The API key or AK/SK in the request is missing or invalid.',
  ],
  'no-such-path': [404, 'NotFound', 'InvalidAction', 'The specified action is invalid.'],
  'no-such-task': [404, 'NotFound', 'ResourceNotFound', 'The specified resource is not found.'],
  'wrong-body': [
    400,
    'BadRequest',
    'InvalidParameter',
    'One or more parameters specified in the request are not valid.',
  ],
  'rate-limited': [
    429,
    'TooManyRequests',
    'ModelAccountRpmRateLimitExceeded',
    'The Requests Per Minute limit of the model for the account is exceeded.',
  ],
  'server-error': [
    500,
    'InternalServerError',
    'InternalServiceError',
    'The service encountered an unexpected internal error.',
  ],
};

/** ModelArk, the service of Seedance. */
export const bytedance: Imitation = {
  basePath: '/api/v3',
  route: ({ method, path }) => {
    const [, id] = /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    return method === 'POST' && path === '/api/v3/contents/generations/tasks'
      ? { call: 'submit' }
      : undefined;
  },
  keyOf: bearerKey,
  understand: (call) =>
    understand(body, call.body, ({ content, ratio, resolution, duration, seed }) => ({
      prompt: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
      image_url: content.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))[0],
      resolution,
      aspect_ratio: ratio,
      duration,
      seed,
    })),
  idOf: (taskId) => `cgt-20261117120000-${ids.hexOf(taskId).slice(0, 8)}`,
  accepted: ({ id }) => ({ status: 200, body: { id } }),
  status: (task) => ({
    status: 200,
    body: {
      id: task.id,
      model: 'seedance-1-0-pro-250528',
      status: task.state,
      ...(task.state === 'failed' && {
        error: { code: task.error.code, message: task.error.message },
      }),
      ...(task.state === 'succeeded' && {
        content: { video_url: task.videoUrl },
        usage: { completion_tokens: 108_900, total_tokens: 108_900 },
        seed: task.request.seed,
      }),
      created_at: toSeconds(task.submittedAtMs),
      updated_at: toSeconds(task.submittedAtMs),
    },
  }),
  refused: ({ reason, status, message, field = '' }) => {
    const [usual, type, code, sentence] = ERRORS[reason];
    return {
      status: status ?? usual,
      body: {
        error: { code, message: `${message ?? sentence} Request id: ${randomUUID()}`, param: field, type },
      },
    };
  },
  policy: {
    prompt: {
      at: 'submit',
      reply: {
        status: 400,
        body: {
          error: {
            code: 'InputTextSensitiveContentDetected',
            message: 'The request failed because the input text may contain sensitive information.',
            param: '',
            type: 'BadRequest',
          },
        },
      },
    },
    output: {
      at: 'task',
      failure: {
        code: 'OutputVideoSensitiveContentDetected',
        message: 'The request failed because the output video may contain sensitive information.',
      },
    },
  },
  expiredLink: EXPIRED_SIGNATURE,
  linkPath: (token) => `/seedance-1-0-pro/${token}.mp4?X-Tos-Expires=86400&X-Tos-Signature=${token}`,
};
