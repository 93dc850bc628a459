import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import {
  bearerKey,
  EXPIRED_SIGNATURE,
  type Imitation,
  ids,
  type Refusal,
  type ServiceCall,
  text,
  understand,
} from './imitation';

const body = z.strictObject({
  model: text,
  input: z.strictObject({
    prompt: text,
    media: z.array(z.strictObject({ type: z.literal('first_frame'), url: text })).optional(),
  }),
  parameters: z.strictObject({
    resolution: z.enum(['480P', '720P', '1080P']).optional(),
    ratio: z.enum(ASPECT_RATIOS).optional(),
    duration: z.int().optional(),
    seed: z.int().optional(),
  }),
});

const WORDS = { queued: 'PENDING', running: 'RUNNING', succeeded: 'SUCCEEDED', failed: 'FAILED' };

const ERRORS: Record<Refusal['reason'], [status: number, code: string, message: string]> = {
  'wrong-key': [401, 'InvalidApiKey', 'Invalid API-key provided.'],
  'no-such-path': [404, 'NotFound', 'Not found.'],
  // A task that nobody knows is in the state UNKNOWN, under 200.
  'no-such-task': [200, '', ''],
  'wrong-body': [
    400,
    'InvalidParameter',
    'Required parameter(s) missing or invalid, please check the request parameters.',
  ],
  'rate-limited': [429, 'Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.'],
  'server-error': [500, 'InternalError', 'An internal error has occurred, please try again later.'],
};

/** Without this header DashScope would make the caller wait for the video, which it does not offer here. */
const isAsync = ({ headers }: ServiceCall) => headers['x-dashscope-async'] === 'enable';

/** Model Studio (DashScope), the service of Wan. */
export const alibaba: Imitation = {
  basePath: '',
  route: (call) => {
    const { method, path } = call;
    const [, id] = /^\/api\/v1\/tasks\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    const isSubmit = path === '/api/v1/services/aigc/video-generation/video-synthesis';
    return method === 'POST' && isSubmit && isAsync(call) ? { call: 'submit' } : undefined;
  },
  keyOf: bearerKey,
  understand: (call) =>
    understand(body, call.body, ({ input, parameters }) => ({
      prompt: input.prompt,
      image_url: input.media?.[0]?.url,
      resolution: RESOLUTIONS.find((one) => one === parameters.resolution?.toLowerCase()),
      aspect_ratio: parameters.ratio,
      duration: parameters.duration,
      seed: parameters.seed,
    })),
  idOf: ids.uuidOf,
  accepted: ({ id }) => ({
    status: 200,
    body: { output: { task_status: 'PENDING', task_id: id }, request_id: randomUUID() },
  }),
  status: (task) => ({
    status: 200,
    body: {
      request_id: randomUUID(),
      output: {
        task_id: task.id,
        task_status: WORDS[task.state],
        ...(task.state === 'failed' && { code: task.error.code, message: task.error.message }),
        ...(task.state === 'succeeded' && { video_url: task.videoUrl, orig_prompt: task.request.prompt }),
      },
      ...(task.state === 'succeeded' && { usage: { duration: task.request.duration, SR: 720 } }),
    },
  }),
  refused: ({ reason, status, message, id }) => {
    const [usual, code, sentence] = ERRORS[reason];
    const request_id = randomUUID();
    if (reason === 'no-such-task') {
      return { status: usual, body: { request_id, output: { task_id: id, task_status: 'UNKNOWN' } } };
    }
    return {
      status: status ?? usual,
      body: { request_id, code, message: message ?? sentence },
    };
  },
  policy: {
    prompt: {
      at: 'submit',
      reply: {
        status: 400,
        body: {
          request_id: randomUUID(),
          code: 'DataInspectionFailed',
          message: 'Input data may contain inappropriate content.',
        },
      },
    },
    output: {
      at: 'task',
      failure: {
        code: 'DataInspectionFailed',
        message: 'Output data may contain inappropriate content.',
      },
    },
  },
  expiredLink: EXPIRED_SIGNATURE,
  linkPath: (token) => `/1d/${token}.mp4?Expires=1763400000&Signature=${token}`,
};
