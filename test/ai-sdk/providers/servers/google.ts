import { z } from 'zod';
import { ASPECT_RATIOS } from '../../../../src/contract/request';
import type { Dialect, DialectRoute, TaskFacts } from '../../../../src/testing/dialect';
import { hexOf, uuidOf } from '../../../dialects/service-words';
import { type Imitation, readBy, text } from './words';

const body = z.strictObject({
  instances: z
    .array(
      z.strictObject({
        prompt: text,
        // Neither API fetches an image from a link.
        image: z.strictObject({ bytesBase64Encoded: z.base64(), mimeType: text }).optional(),
      }),
    )
    .length(1),
  parameters: z.strictObject({
    sampleCount: z.int().min(1).max(4),
    aspectRatio: z.enum(ASPECT_RATIOS).optional(),
    resolution: z.enum(['720p', '1080p']).optional(),
    durationSeconds: z.union([z.literal(4), z.literal(6), z.literal(8)]).optional(),
    seed: z.int().optional(),
  }),
});

/** The body of a submit is the same in both of Google's APIs. */
const read = readBy(body, ({ instances: [{ prompt = '', image } = {}], parameters }) => ({
  prompt,
  image_url: image && `data:${image.mimeType};base64,${image.bytesBase64Encoded}`,
  resolution: parameters.resolution,
  aspect_ratio: parameters.aspectRatio,
  duration: parameters.durationSeconds,
  seed: parameters.seed,
}));

const keyIn: DialectRoute['keyIn'] = (headers) => headers['x-goog-api-key']?.toString();

/** What Google calls a refusal. */
const STATUSES: Record<string, string> = {
  unauthorized: 'INVALID_ARGUMENT',
  invalid_request: 'INVALID_ARGUMENT',
  not_found: 'NOT_FOUND',
  rate_limited: 'RESOURCE_EXHAUSTED',
  internal: 'INTERNAL',
};

/** A finished operation whose videos were all filtered: no error, and no video. */
const FILTERED = {
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: [
    'Veo could not generate videos because the output violates the usage guidelines. Support codes: 58061214',
  ],
};

/** Where Google's two APIs differ. */
interface VeoApi extends Pick<Dialect, 'routes' | 'idOf'> {
  filtered: object;
  succeeded(videoUrl: string): object;
}

const veo = ({ filtered, succeeded, ...api }: VeoApi): Dialect => ({
  ...api,
  accepted: ({ id: name }) => ({ body: { name } }),
  status: ({ id: name, error, videoUrl }: TaskFacts) => {
    if (error?.refuses === 'output') return { body: { name, done: true, response: filtered } };
    if (error) return { body: { name, done: true, error: { code: 13, message: error.message } } };
    return { body: videoUrl === undefined ? { name } : { name, done: true, response: succeeded(videoUrl) } };
  },
  refused: ({ status: usual, code, message }) => {
    const status = code === 'unauthorized' ? 400 : usual;
    return { status, body: { error: { code: status, message, status: STATUSES[code] ?? 'UNKNOWN' } } };
  },
  refusedContent: () => ({
    at: 'task',
    code: '3',
    message:
      "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices. Try rephrasing the prompt. If you think this was an error, send feedback. Support codes: 29310472",
  }),
});

/** The Gemini API: a long-running operation. The package puts the key into the link to its file. */
export const google: Imitation = {
  dialect: veo({
    routes: [
      { method: 'GET', path: /^\/v1beta\/(models\/[^/:]+\/operations\/[^/]+)$/, call: 'status', keyIn },
      { method: 'POST', path: /^\/v1beta\/models\/[^/:]+:predictLongRunning$/, call: 'submit', keyIn, read },
    ],
    idOf: (taskId) => `models/veo-3.1-generate-preview/operations/${hexOf(taskId).slice(0, 12)}`,
    filtered: { generateVideoResponse: FILTERED },
    succeeded: (uri) => ({ generateVideoResponse: { generatedSamples: [{ video: { uri } }] } }),
  }),
  basePath: '/v1beta',
  refuses: ['prompt', 'output'],
  expiredStatus: 403,
};

/** The query parameter with the operation of a poll: the emulator reads ids in addresses, and Vertex AI in the body. */
export const OPERATION = 'operation';

/** Vertex AI with an API key. A poll is a POST, and the video comes as bytes in its answer: each task has this one. */
export const vertex = (video: Buffer): Imitation => ({
  dialect: veo({
    routes: [
      {
        method: 'POST',
        path: /^\/v1\/publishers\/google\/models\/[^/:]+:fetchPredictOperation$/,
        call: 'status',
        idIn: OPERATION,
        keyIn,
      },
      {
        method: 'POST',
        path: /^\/v1\/publishers\/google\/models\/[^/:]+:predictLongRunning$/,
        call: 'submit',
        keyIn,
        read,
      },
    ],
    idOf: (taskId) =>
      `projects/1234/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/${uuidOf(taskId)}`,
    filtered: FILTERED,
    succeeded: () => ({
      raiMediaFilteredCount: 0,
      videos: [{ bytesBase64Encoded: video.toString('base64'), mimeType: 'video/mp4' }],
    }),
  }),
  basePath: '/v1/publishers/google',
  refuses: ['prompt', 'output'],
  expiredStatus: 403,
});
