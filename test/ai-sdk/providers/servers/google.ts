import { z } from 'zod';
import { ASPECT_RATIOS } from '../../../../src/contract/request';
import type { TaskFailure } from '../../../../src/testing/task-store';
import {
  type DescribedTask,
  EXPIRED_SIGNATURE,
  type Imitation,
  ids,
  type Refusal,
  type Reply,
  type ServiceCall,
  text,
  understand,
} from './imitation';

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
const understandVeo: Imitation['understand'] = (call) =>
  understand(body, call.body, ({ instances: [{ prompt = '', image } = {}], parameters }) => ({
    prompt,
    image_url: image && `data:${image.mimeType};base64,${image.bytesBase64Encoded}`,
    resolution: parameters.resolution,
    aspect_ratio: parameters.aspectRatio,
    duration: parameters.durationSeconds,
    seed: parameters.seed,
  }));

const ERRORS: Record<Refusal['reason'], [code: number, status: string, message: string]> = {
  'wrong-key': [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  'no-such-path': [404, 'NOT_FOUND', 'Requested entity was not found.'],
  'no-such-task': [404, 'NOT_FOUND', 'Requested entity was not found.'],
  'wrong-body': [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  'rate-limited': [
    429,
    'RESOURCE_EXHAUSTED',
    'You exceeded your current quota, please check your plan and billing details.',
  ],
  'server-error': [500, 'INTERNAL', 'An internal error has occurred. Please retry or report.'],
};

/** A refusal says in its details, too, when to come back. */
function googleError({ reason, status, message, retryAfterSeconds }: Refusal): Reply {
  const [code, word, usual] = ERRORS[reason];
  const wait = retryAfterSeconds !== undefined && {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${retryAfterSeconds}s`,
  };
  return {
    status: status ?? code,
    body: {
      error: {
        code: status ?? code,
        message: message ?? usual,
        status: word,
        ...(wait && { details: [wait] }),
      },
    },
  };
}

/** The key comes in a header, and for downloads in the query, where the package puts it. */
const googleKey = ({ headers, query }: ServiceCall) =>
  headers['x-goog-api-key']?.toString() ?? query.get('key') ?? undefined;

const VEO_POLICY: Imitation['policy'] = {
  prompt: {
    at: 'task',
    failure: {
      code: '3',
      message:
        "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices. Try rephrasing the prompt. If you think this was an error, send feedback. Support codes: 29310472",
      refuses: 'prompt',
    },
  },
  output: { at: 'task', failure: { code: '', message: 'Support codes: 58061214', refuses: 'output' } },
};

/** A finished operation whose videos were all filtered: no error, and no video. */
const filtered = ({ message }: TaskFailure) => ({
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: [
    `Veo could not generate videos because the output violates the usage guidelines. ${message}`,
  ],
});

type Succeeded = Extract<DescribedTask, { state: 'succeeded' }>;

/** Where Google's two APIs word the end of an operation differently. */
interface VeoResponses {
  refused(error: TaskFailure): object;
  succeeded(task: Succeeded): object;
}

const veoStatus =
  ({ refused, succeeded }: VeoResponses): Imitation['status'] =>
  (task) => {
    const { id: name } = task;
    switch (task.state) {
      case 'queued':
      case 'running':
        return { status: 200, body: { name } };
      case 'failed':
        return {
          status: 200,
          body:
            task.error.refuses === 'output'
              ? { name, done: true, response: refused(task.error) }
              : { name, done: true, error: { code: Number(task.error.code), message: task.error.message } },
        };
      case 'succeeded':
        return { status: 200, body: { name, done: true, response: succeeded(task) } };
    }
  };

/** The Gemini API: a long-running operation, whose video is a file that only the key opens. */
export const google: Imitation = {
  basePath: '/v1beta',
  route: ({ method, path }) => {
    const [, id] = /^\/v1beta\/(models\/[^/:]+\/operations\/[^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && id !== undefined) return { call: 'status', id };
    const isSubmit = method === 'POST' && /^\/v1beta\/models\/[^/:]+:predictLongRunning$/.test(path);
    return isSubmit ? { call: 'submit' } : undefined;
  },
  keyOf: googleKey,
  understand: understandVeo,
  idOf: (taskId) => `models/veo-3.1-generate-preview/operations/${ids.hexOf(taskId).slice(0, 12)}`,
  accepted: ({ id }) => ({ status: 200, body: { name: id } }),
  status: veoStatus({
    refused: (error) => ({ generateVideoResponse: filtered(error) }),
    succeeded: ({ videoUrl }) => ({
      '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
      generateVideoResponse: { generatedSamples: [{ video: { uri: videoUrl } }] },
    }),
  }),
  refused: googleError,
  policy: VEO_POLICY,
  expiredLink: {
    status: 403,
    contentType: 'application/json',
    body: JSON.stringify({
      error: {
        code: 403,
        message: 'You do not have permission to access the File or it may not exist.',
        status: 'PERMISSION_DENIED',
      },
    }),
  },
  linkPath: (token) => `/v1beta/files/${token}:download?alt=media`,
  linkNeedsKey: true,
};

const poll = z.strictObject({ operationName: z.string() });

/** Vertex AI with an API key. A poll is a POST, and the video comes as bytes in its answer. */
export const vertex: Imitation = {
  basePath: '/v1/publishers/google',
  route: ({ method, path, body }) => {
    const [, verb] = /^\/v1\/publishers\/google\/models\/[^/:]+:([A-Za-z]+)$/.exec(path) ?? [];
    if (method !== 'POST') return undefined;
    if (verb === 'predictLongRunning') return { call: 'submit' };
    const asked = poll.safeParse(body);
    return verb === 'fetchPredictOperation' && asked.success
      ? { call: 'status', id: asked.data.operationName }
      : undefined;
  },
  keyOf: googleKey,
  understand: understandVeo,
  idOf: (taskId) =>
    `projects/1234/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/${ids.uuidOf(taskId)}`,
  accepted: ({ id }) => ({ status: 200, body: { name: id } }),
  status: veoStatus({
    refused: filtered,
    succeeded: ({ video }) => ({
      '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
      raiMediaFilteredCount: 0,
      videos: [{ bytesBase64Encoded: video.toString('base64'), mimeType: 'video/mp4' }],
    }),
  }),
  refused: googleError,
  policy: VEO_POLICY,
  expiredLink: EXPIRED_SIGNATURE,
  linkPath: (token) => `/never-linked/${token}`,
};
