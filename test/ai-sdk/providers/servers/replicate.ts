import { z } from 'zod';
import { ASPECT_RATIOS } from '../../../../src/contract/request';
import {
  bearerKey,
  type Imitation,
  ids,
  type PolicyAnswer,
  type Refusal,
  type Reply,
  resolutionOf,
  text,
  understand,
} from './imitation';

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

const WORDS = { queued: 'starting', running: 'processing', succeeded: 'succeeded', failed: 'failed' };

const ERRORS: Record<Refusal['reason'], [status: number, title: string, detail: string]> = {
  'wrong-key': [401, 'Unauthenticated', 'You did not pass a valid authentication token'],
  'no-such-path': [404, 'Not found', 'The requested resource could not be found.'],
  'no-such-task': [404, 'Not found', 'The requested resource could not be found.'],
  'wrong-body': [422, 'Input validation failed', 'input is invalid'],
  'rate-limited': [429, 'Too many requests', 'Request was throttled. Your rate limit resets in ~2s.'],
  'server-error': [500, 'Internal server error', 'An internal error occurred.'],
};

const FLAGGED: PolicyAnswer = {
  at: 'task',
  failure: {
    code: '',
    message: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
  },
};

/** Replicate's predictions of an official model. */
export const replicate: Imitation = {
  basePath: '/v1',
  route: ({ method, path }) => {
    const [, id] = /^\/v1\/predictions\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    const isSubmit = method === 'POST' && /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/.test(path);
    return isSubmit ? { call: 'submit' } : undefined;
  },
  keyOf: bearerKey,
  understand: (call) =>
    understand(body, call.body, ({ input: { image, size, ...request } }) => ({
      ...request,
      image_url: image,
      resolution: resolutionOf(size),
    })),
  idOf: (taskId) => ids.hexOf(taskId).slice(0, 26),
  accepted: (task) => prediction(201, task),
  status: (task) => prediction(200, task),
  refused: ({ reason, status, message }) => {
    const [usual, title, detail] = ERRORS[reason];
    return {
      status: status ?? usual,
      body: { title, detail: message ?? detail, status: status ?? usual },
    };
  },
  // It does not say which of the two it was.
  policy: { prompt: FLAGGED, output: FLAGGED },
  expiredLink: { status: 404, contentType: 'text/plain', body: 'Not found' },
  linkPath: (token) => `/xezq/${token}/tmp.mp4`,
};

function prediction(status: number, task: Parameters<Imitation['status']>[0]): Reply {
  const { id, origin, submittedAtMs, state } = task;
  return {
    status,
    body: {
      id,
      model: 'bytedance/seedance-1-lite',
      version: 'hidden',
      input: { prompt: task.request.prompt },
      logs: '',
      output: state === 'succeeded' ? task.videoUrl : null,
      error: state === 'failed' ? task.error.message : null,
      status: WORDS[state],
      created_at: new Date(submittedAtMs).toISOString(),
      metrics: state === 'succeeded' ? { predict_time: 4.5 } : {},
      urls: { get: `${origin}/v1/predictions/${id}`, cancel: `${origin}/v1/predictions/${id}/cancel` },
    },
  };
}
