import { type ParsedRequest, parseRequest } from '../contract/request';
import type { Dialect } from './dialect';

/** The package has this address built in, and sends its key to no other. Our `baseUrl` leads it here. */
const QUEUE = 'https://queue.fal.run';

/** `Authorization: Key …`, as fal has it. */
const keyIn: Dialect['routes'][number]['keyIn'] = ({ authorization }) =>
  /^Key (.+)$/.exec(authorization ?? '')?.[1];

/** What fal's models take is written as the interface has it, except for a duration such as `5s`. */
function read(body: unknown): ParsedRequest {
  const { prompt, image_url, resolution, aspect_ratio, duration, seed }: Record<string, unknown> =
    Object(body);
  const seconds = duration === undefined ? undefined : Number.parseInt(String(duration), 10);
  const fields = { prompt, image_url, resolution, aspect_ratio, duration: seconds, seed };
  return parseRequest(JSON.parse(JSON.stringify(fields)));
}

/**
 * fal's queue, as `@ai-sdk/fal` calls it: a way to try a model of the AI SDK without a paid key. The package polls the result
 * itself, which is a 400 until there is one. `X-Fal-Retryable` marks the outcome of a task.
 */
export const FAL: Dialect = {
  routes: [
    { method: 'GET', path: /^\/fal-ai\/.+\/requests\/([^/]+)$/, call: 'status', keyIn },
    { method: 'POST', path: /^\/fal-ai\/.+$/, call: 'submit', keyIn, read },
  ],
  accepted: ({ id }) => ({
    body: { status: 'IN_QUEUE', request_id: id, response_url: `${QUEUE}/fal-ai/any/requests/${id}` },
  }),
  status: ({ state, word, request, videoUrl, error }) => {
    if (state === 'queued' || state === 'running') {
      return { status: 400, body: { detail: 'Request is still in progress' } };
    }
    if (state === 'failed' || state === 'cancelled') {
      const { code = 'cancelled', message = 'The request was cancelled' } = error ?? {};
      return {
        status: 422,
        headers: { 'x-fal-retryable': 'false' },
        body: { detail: [{ loc: ['body'], msg: message, type: code }] },
      };
    }
    const video = videoUrl && { url: videoUrl, content_type: 'video/mp4' };
    return { body: { video, seed: request.seed, status: word } };
  },
  refused: ({ message }) => ({ body: { detail: message } }),
  refusedContent: () => ({
    at: 'task',
    code: 'content_policy_violation',
    message: 'The content could not be processed because it contained material flagged by a content checker.',
  }),
};
