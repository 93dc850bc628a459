import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import { type Imitation, readBy, text, uuidOf } from './words';

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

const request_id = '4909100c-7b5a-9f92-bfe5-000000000000';

/** Model Studio (DashScope), the service of Wan. */
export const alibaba: Imitation = {
  dialect: {
    routes: [
      { method: 'GET', path: /^\/api\/v1\/tasks\/([^/]+)$/, call: 'status' },
      {
        method: 'POST',
        path: /^\/api\/v1\/services\/aigc\/video-generation\/video-synthesis$/,
        call: 'submit',
        // Without this header DashScope would make the caller wait for the video, which it does not offer here.
        keyIn: ({ authorization, 'x-dashscope-async': mode }) =>
          mode === 'enable' ? authorization?.replace('Bearer ', '') : undefined,
        read: readBy(body, ({ input, parameters }) => ({
          prompt: input.prompt,
          image_url: input.media?.[0]?.url,
          resolution: RESOLUTIONS.find((one) => one === parameters.resolution?.toLowerCase()),
          aspect_ratio: parameters.ratio,
          duration: parameters.duration,
          seed: parameters.seed,
        })),
      },
    ],
    idOf: uuidOf,
    accepted: ({ id }) => ({ body: { output: { task_status: 'PENDING', task_id: id }, request_id } }),
    status: ({ id, state, error, videoUrl }) => ({
      body: {
        request_id,
        output: {
          task_id: id,
          task_status: state === 'queued' ? 'PENDING' : state.toUpperCase(),
          ...(error && { code: error.code, message: error.message }),
          ...(videoUrl && { video_url: videoUrl }),
        },
      },
    }),
    refused: ({ code, message }) =>
      // A task that nobody knows is in the state UNKNOWN, under 200.
      code === 'not_found'
        ? { status: 200, body: { request_id, output: { task_id: 'unknown', task_status: 'UNKNOWN' } } }
        : { body: { request_id, code, message } },
    refusedContent: (stage) => ({
      at: stage === 'output' ? 'task' : 'submit',
      code: 'DataInspectionFailed',
      message: `${stage === 'output' ? 'Output' : 'Input'} data may contain inappropriate content.`,
    }),
  },
  basePath: '',
  refuses: ['prompt', 'output'],
  expiredStatus: 403,
};
