import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import type { TaskFailure } from '../../../../src/testing/task-store';
import { type Imitation, ids, type Refusal, type Reply, text, understand } from './imitation';

/** The package has this address built in: a base URL changes nothing, so its `fetch` leads here. */
export const FAL_QUEUE = 'https://queue.fal.run';

const APP = '/fal-ai/veo3';

const body = z.object({
  prompt: text,
  image_url: z.string().optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  duration: z.enum(['4s', '6s', '8s']).optional(),
  seed: z.int().optional(),
});

/** The model's own errors: a list of objects. `X-Fal-Retryable` says whether the same request may succeed later. */
const modelError = (status: number, { code, message }: TaskFailure, field: string[]): Reply => ({
  status,
  headers: { 'x-fal-retryable': 'false' },
  body: {
    detail: [
      {
        loc: ['body', ...field],
        msg: message,
        type: code,
        url: `https://docs.fal.ai/errors#${code}`,
        input: {},
      },
    ],
  },
});

/** Errors of the runner that had the request, by their type. */
const REQUEST_ERRORS: Record<string, number> = { request_timeout: 504, runner_disconnected: 503 };

const requestError = ({ code, message }: TaskFailure): Reply => ({
  status: REQUEST_ERRORS[code] ?? 500,
  headers: { 'x-fal-error-type': code },
  body: { detail: message, error_type: code },
});

/** Errors of the queue itself: one text. */
const QUEUE_ERRORS: Record<Refusal['reason'], [status: number, detail: string]> = {
  'wrong-key': [401, 'Invalid authentication credentials.'],
  'no-such-path': [404, 'Path not found'],
  'no-such-task': [404, 'Request not found'],
  'wrong-body': [422, 'Unprocessable Entity'],
  'rate-limited': [429, 'Too many requests. Please slow down.'],
  'server-error': [500, 'Internal Server Error'],
};

/**
 * fal's queue. A submit is always accepted: what is wrong with it is found by the model, when its turn comes. The package
 * polls the result itself, which is a 400 until there is one.
 */
export const fal: Imitation = {
  basePath: '',
  route: ({ method, path }) => {
    const [, id] = /^\/fal-ai\/veo3\/requests\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    return method === 'POST' && path === APP ? { call: 'submit' } : undefined;
  },
  keyOf: ({ headers }) => /^Key (.+)$/.exec(headers.authorization ?? '')?.[1],
  understand: (call) =>
    understand(body, call.body, ({ duration, ...request }) => ({
      ...request,
      duration: duration && Number.parseInt(duration, 10),
    })),
  idOf: ids.uuidOf,
  accepted: ({ id }) => ({
    status: 200,
    body: {
      status: 'IN_QUEUE',
      request_id: id,
      response_url: `${FAL_QUEUE}${APP}/requests/${id}`,
      status_url: `${FAL_QUEUE}${APP}/requests/${id}/status`,
      cancel_url: `${FAL_QUEUE}${APP}/requests/${id}/cancel`,
      queue_position: 0,
    },
  }),
  status: (task) => {
    switch (task.state) {
      case 'queued':
      case 'running':
        return { status: 400, body: { detail: 'Request is still in progress' } };
      case 'failed':
        return Object.hasOwn(REQUEST_ERRORS, task.error.code)
          ? requestError(task.error)
          : modelError(
              task.error.code === 'internal_server_error' ? 500 : 422,
              task.error,
              task.error.refuses === 'prompt' ? ['prompt'] : [],
            );
      case 'succeeded':
        return {
          status: 200,
          body: {
            video: {
              url: task.videoUrl,
              content_type: 'video/mp4',
              file_name: 'output.mp4',
              file_size: task.video.length,
            },
            seed: task.request.seed,
          },
        };
    }
  },
  refused: ({ reason, status, message }) => {
    const [usual, detail] = QUEUE_ERRORS[reason];
    return {
      status: status ?? usual,
      body: { detail: message ?? detail },
    };
  },
  policy: {
    prompt: {
      at: 'task',
      failure: {
        code: 'content_policy_violation',
        message:
          'The content could not be processed because it contained material flagged by a content checker.',
        refuses: 'prompt',
      },
    },
  },
  expiredLink: { status: 404, contentType: 'application/json', body: '{"detail":"Not Found"}' },
  linkPath: (token) => `/files/b/${token}/output.mp4`,
};
