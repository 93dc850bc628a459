import { z } from 'zod';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../../src/contract/request';
import { dialectOf } from '../../../dialects';
import { type Imitation, readBy, text } from './words';

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

const words = dialectOf('dashscope');

/** Model Studio (DashScope), the service of Wan. */
export const alibaba: Imitation = {
  dialect: {
    ...words,
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
    refused: (refusal) =>
      // A task that nobody knows is in the state UNKNOWN, under 200.
      refusal.code === 'not_found'
        ? { status: 200, body: { request_id: 'any', output: { task_id: 'any', task_status: 'UNKNOWN' } } }
        : words.refused(refusal),
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
