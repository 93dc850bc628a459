import type { TaskFacts } from '../../../../src/testing/dialect';
import { FAL } from '../../../../src/testing/fal-dialect';
import { uuidOf } from '../../../dialects/service-words';
import type { Imitation } from './words';

/** The package has this address built in: a base URL changes nothing, so its `fetch` leads here. */
export const FAL_QUEUE = 'https://queue.fal.run';

/** What the emulator of the package speaks, with fal's own ids and what it says of refused content. */
export const fal: Imitation = {
  dialect: {
    ...FAL,
    idOf: uuidOf,
    accepted: ({ id }) => ({
      body: {
        status: 'IN_QUEUE',
        request_id: id,
        response_url: `${FAL_QUEUE}/fal-ai/veo3/requests/${id}`,
      },
    }),
    status: (task) => (task.error?.refuses === 'prompt' ? refusedPrompt(task.error) : FAL.status(task)),
  },
  basePath: '',
  refuses: ['prompt'],
  expiredStatus: 404,
};

const refusedPrompt = ({ code, message }: NonNullable<TaskFacts['error']>) => ({
  status: 422,
  headers: { 'x-fal-retryable': 'false' },
  body: { detail: [{ loc: ['body', 'prompt'], msg: message, type: code }] },
});
