import { randomBytes } from 'node:crypto';
import type { ContentStage } from '../../../src/contract/failure-details';
import { parseRequest, RESOLUTIONS, type VideoRequest } from '../../../src/contract/request';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../../src/testing';
import type { Dialect, DialectRoute, TaskFacts } from '../../../src/testing/dialect';
import { FAL } from '../../../src/testing/fal-dialect';
import { noiseVideo } from '../../../src/testing/video/make-video';
import { dialectOf } from '../../dialects';
import { uuidOf } from '../../dialects/service-words';
import type { ProviderName } from './what-runs';

/** A service that a package of the AI SDK calls: its own paths, keys, bodies, answers and errors, as its documentation has them. */
interface Imitation {
  dialect: Dialect;
  /** Where the API begins, as the base URL of the package has it. */
  basePath: string;
  /** What its content policy can refuse. */
  refuses: ContentStage[];
  /** What a link answers that is no longer valid. */
  expiredStatus: number;
}

/** Reads the body of a submit, which has any type. */
const readBy =
  (toRequest: (body: ReturnType<typeof Object>) => VideoRequest): DialectRoute['read'] =>
  (body) =>
    parseRequest(toRequest(Object(body)));

/** A dialect whose submits are read whole, as the package writes them, and whose polls are answered by its `status`. */
const reading = (dialect: Dialect, read: DialectRoute['read']): Dialect => ({
  ...dialect,
  routes: dialect.routes.map(({ answer: _, ...route }) => ({ ...route, read })),
});

/** The resolution behind a size such as 1280x720: its shorter side. */
function resolutionOf(size = ''): VideoRequest['resolution'] {
  const shorter = Math.min(...size.split('x').map(Number));
  return RESOLUTIONS.find((one) => one === `${shorter}p`);
}

/** The package has this address built in: a base URL changes nothing, so its `fetch` leads here. */
export const FAL_QUEUE = 'https://queue.fal.run';

/** What the emulator of the package speaks, with fal's own ids and what it says of refused content. */
const fal: Imitation = {
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
    status: (task) => {
      const { error } = task;
      if (error?.refuses !== 'prompt') return FAL.status(task);
      const detail = [{ loc: ['body', 'prompt'], msg: error.message, type: error.code }];
      return { status: 422, headers: { 'x-fal-retryable': 'false' }, body: { detail } };
    },
  },
  basePath: '',
  refuses: ['prompt'],
  expiredStatus: 404,
};

/** Replicate's predictions of an official model. */
const replicate: Imitation = {
  dialect: {
    ...reading(
      dialectOf('replicate'),
      readBy(({ input: { image, size, ...request } }) => ({
        ...request,
        image_url: image,
        resolution: resolutionOf(size),
      })),
    ),
    // It does not say whether it was the prompt or the video.
    refusedContent: () => ({
      at: 'task',
      code: '',
      message: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
    }),
  },
  basePath: '/v1',
  refuses: ['prompt', 'output'],
  expiredStatus: 404,
};

/** Grok Imagine. */
const xai: Imitation = {
  dialect: reading(
    dialectOf('xai'),
    readBy(({ model: _, image, ...request }) => ({ ...request, image_url: image?.url })),
  ),
  basePath: '/v1',
  refuses: ['output'],
  expiredStatus: 404,
};

const dashscope = reading(
  dialectOf('dashscope'),
  readBy(({ input, parameters: { resolution, ratio, ...request } }) => ({
    duration: request.duration,
    seed: request.seed,
    prompt: input.prompt,
    image_url: input.media?.[0]?.url,
    resolution: resolution?.toLowerCase(),
    aspect_ratio: ratio,
  })),
);

/** Model Studio (DashScope), the service of Wan. */
const alibaba: Imitation = {
  dialect: {
    ...dashscope,
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

/** A finished operation whose videos were all filtered: no error, and no video. */
const FILTERED = {
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: [
    'Veo could not generate videos because the output violates the usage guidelines. Support codes: 58061214',
  ],
};

/** Where Google's two APIs differ in the answer to a poll. */
interface VeoAnswers {
  filtered: object;
  succeeded(videoUrl: string): object;
}

const veoWords = dialectOf('veo');

const veo = ({ filtered, succeeded }: VeoAnswers): Dialect => ({
  ...reading(
    veoWords,
    readBy(({ instances: [{ prompt, image }], parameters }) => ({
      prompt,
      // Neither API fetches an image from a link.
      image_url: image && `data:${image.mimeType};base64,${image.bytesBase64Encoded}`,
      resolution: parameters.resolution,
      aspect_ratio: parameters.aspectRatio,
      duration: parameters.durationSeconds,
      seed: parameters.seed,
    })),
  ),
  status: ({ id: name, error, videoUrl }: TaskFacts) => {
    if (error?.refuses === 'output') return { body: { name, done: true, response: filtered } };
    if (error) return { body: { name, done: true, error: { code: 13, message: error.message } } };
    return { body: videoUrl === undefined ? { name } : { name, done: true, response: succeeded(videoUrl) } };
  },
  refused: (refusal) => {
    // So Google answers to a key that it does not know.
    const status = refusal.code === 'unauthorized' ? 400 : refusal.status;
    return { ...veoWords.refused({ ...refusal, status }), status };
  },
  refusedContent: () => ({
    at: 'task',
    code: '3',
    message:
      "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices. Try rephrasing the prompt. If you think this was an error, send feedback. Support codes: 29310472",
  }),
});

/** The Gemini API: a long-running operation. The package puts the key into the link to its file. */
const google: Imitation = {
  dialect: veo({
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
function vertex(video: Buffer): Imitation {
  const dialect = veo({
    filtered: FILTERED,
    succeeded: () => ({
      raiMediaFilteredCount: 0,
      videos: [{ bytesBase64Encoded: video.toString('base64'), mimeType: 'video/mp4' }],
    }),
  });
  const [submit] = dialect.routes;
  return {
    ...google,
    dialect: {
      ...dialect,
      routes: [
        { ...submit, method: 'POST', path: /:fetchPredictOperation$/, call: 'status', idIn: OPERATION },
        { ...submit, method: 'POST', path: /:predictLongRunning$/, call: 'submit' },
      ],
    },
    basePath: '/v1/publishers/google',
  };
}

const IMITATIONS: Record<ProviderName, (video: Buffer) => Imitation> = {
  fal: () => fal,
  replicate: () => replicate,
  google: () => google,
  xai: () => xai,
  alibaba: () => alibaba,
  'google-vertex': vertex,
};

/** The service that a package calls, on this machine. */
export interface ImitatedService extends Emulator, Omit<Imitation, 'dialect'> {
  /** For the base URL option of the package. */
  baseUrl: string;
}

const VIDEO_BYTES = 64 * 1024;

export async function startImitatedService(
  name: ProviderName,
  options: EmulatorOptions = {},
): Promise<ImitatedService> {
  const inAnswers = await noiseVideo(
    { prompt: 'any', resolution: '720p', aspect_ratio: '16:9', duration: 6 },
    VIDEO_BYTES,
  );
  const { dialect, ...imitation } = IMITATIONS[name](inAnswers);
  const apiKey = `key-${randomBytes(16).toString('hex')}`;
  const emulator = await startEmulator({ apiKey, videoBytes: VIDEO_BYTES, dialect, ...options });
  return {
    ...emulator,
    ...imitation,
    baseUrl: `${emulator.url}${imitation.basePath}`,
    video: name === 'google-vertex' ? async () => inAnswers : emulator.video,
  };
}
