import { z } from 'zod';
import { SIZES, shapeOf, sizeOf } from '../client/video-size';
import { parseRequest, requestSchema, type VideoRequest } from '../contract/request';
import { MOST_SERVICES } from '../contract/service-choice';
import { badField, Refusal } from './http-errors';
import type { Asked } from './video-object';

/** The memo of a workflow is small, and a list shows one line of a prompt. */
export const LONGEST_SHOWN_PROMPT_CHARS = 500;

/** A request to the service, and what answers show of it. */
export interface Wanted {
  request: VideoRequest;
  asked: Asked;
}

/** The body of the service's own interface. */
export function readServiceRequest(body: unknown, requestFields: readonly string[]): Wanted {
  const request = checked(body, requestFields);
  return { request, asked: askedOf(request, undefined) };
}

/** The body of POST /v1/videos/image-to-video, which needs an image. */
export function readImageRequest(body: unknown, requestFields: readonly string[]): Wanted {
  const wanted = readServiceRequest(body, requestFields);
  if (wanted.request.image_url !== undefined) return wanted;
  throw badField(
    'image_url',
    'image_url is missing: POST /v1/videos/text-to-video makes a video without an image.',
  );
}

const CALLBACK_URL = z
  .string()
  .optional()
  .describe('Called when the video is there, has failed or needs a decision.');

const SERVICE = 'Which of the services makes the video.';
const SERVICES = 'Instead of `service`: those to try, in this order.';

/** The body of POST /v1/videos, as OpenAI's clients send it. Fields of the service's interface may stand beside its own. */
export const openAiRequestSchema = z.looseObject({
  prompt: z.string(),
  model: z.string().optional().describe('Shown in answers. The name of a service chooses that one.'),
  seconds: z.union([z.string(), z.int()]).optional().describe('The length: 1 to 10.'),
  size: z
    .string()
    .optional()
    .describe(`One of ${SIZES.join(', ')}.`),
  input_reference: z.unknown().optional().describe('An image to start from: its URL, or {"image_url": URL}.'),
});

export function readOpenAiRequest(body: unknown, requestFields: readonly string[]): Wanted {
  const parsed = openAiRequestSchema.safeParse(body);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'is wrong' };
    const field = String(path[0] ?? '');
    // The rules of the service's interface say more, such as which field was probably meant.
    if (field === 'prompt') checked(withoutOwnFields(body), requestFields);
    throw badField(
      field || undefined,
      field ? `${field}: ${message}` : 'The body must be a JSON object with a prompt.',
    );
  }
  const { model, seconds, size, input_reference: reference, ...rest } = parsed.data;
  const fields = { ...rest, ...durationOf(seconds), ...fieldsOf(size), ...imageOf(reference) };
  const request = inTheirWords(seconds, () => checked(fields, requestFields));
  return { request, asked: askedOf(request, model) };
}

function withoutOwnFields(body: unknown): unknown {
  const { model, seconds, size, input_reference, ...rest }: Record<string, unknown> = Object(body);
  return rest;
}

/** Who sent `seconds` is not told about `duration`. */
function inTheirWords<T>(seconds: unknown, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (seconds === undefined || !(error instanceof Refusal) || error.refused.param !== 'duration')
      throw error;
    throw badField('seconds', error.message.replace(/^duration/, 'seconds'));
  }
}

function checked(body: unknown, requestFields: readonly string[]): VideoRequest {
  const parsed = parseRequest(body, requestFields);
  if (parsed.ok) return parsed.request;
  throw badField(parsed.field, sentence(parsed.problem));
}

function durationOf(seconds: string | number | undefined): Pick<VideoRequest, 'duration'> {
  if (seconds === undefined) return {};
  const duration = Number(seconds);
  if (Number.isInteger(duration)) return { duration };
  throw badField('seconds', 'seconds must be a whole number, such as "4".');
}

function fieldsOf(size: string | undefined): Pick<VideoRequest, 'resolution' | 'aspect_ratio'> {
  if (size === undefined) return {};
  const shape = shapeOf(size);
  if (shape !== undefined) return shape;
  throw badField('size', `size must be one of ${SIZES.join(', ')}.`);
}

function imageOf(reference: unknown): Pick<VideoRequest, 'image_url'> {
  if (reference === undefined || reference === null) return {};
  const { image_url: url = reference }: { image_url?: unknown } = Object(reference);
  if (typeof url === 'string') return { image_url: url };
  throw badField(
    'input_reference',
    'input_reference must be the URL of an image, or an object with image_url.',
  );
}

function askedOf(request: VideoRequest, model: string | undefined): Asked {
  const { prompt, duration, seed } = request;
  const size = sizeOf(request);
  return {
    prompt: prompt.slice(0, LONGEST_SHOWN_PROMPT_CHARS),
    ...(model !== undefined && { model: model.slice(0, 100) }),
    ...(duration !== undefined && { seconds: String(duration) }),
    ...(size !== undefined && { size }),
    ...(seed !== undefined && { seed }),
  };
}

const sentence = (problem: string) => (problem.endsWith('?') ? problem : `${problem}.`);

/** The reader of forms cuts a text off at its limit and says nothing. Half an image would be paid for. */
export function refuseCutTexts(body: unknown, largestBytes: number): void {
  for (const [name, value] of Object.entries<unknown>(Object(body))) {
    const isCut = [value]
      .flat()
      .some((one) => typeof one === 'string' && Buffer.byteLength(one) >= largestBytes);
    if (isCut) {
      throw new Refusal({
        status: 413,
        code: 'field_too_large',
        message: `${name} is too large for a text of a form, which may have 2 MiB.`,
        advice: 'Send the image as the file of the form, or with POST /v1/images.',
        param: name,
      });
    }
  }
}

/** Numbers of a form are text. Text that is not a number is left to the rules of its field. */
export function readFormNumbers(body: unknown): unknown {
  const fields = Object.entries<unknown>(Object(body)).map(([name, value]) => {
    const isNumber = FORM_NUMBERS.has(name) && typeof value === 'string' && /^-?\d{1,15}$/.test(value);
    return [name, isNumber ? Number(value) : value];
  });
  return Object.fromEntries(fields);
}

const FORM_NUMBERS = new Set(['duration', 'seed']);

/** What is for the gateway and not for the service: see job-options.ts. */
const OWN_FIELDS = { callback_url: CALLBACK_URL };

const prompt = z.string().regex(/\S/).describe('What the video shows.');
const image = z.url().describe('The address of the image to start from.');

/** The bodies, for the description of the interface. `requestFields` are those that the service takes beyond it. */
export function documentedRequests(requestFields: readonly string[], services: readonly string[] = []) {
  const extra = Object.fromEntries(requestFields.map((name) => [name, z.unknown().optional()]));
  const one = services.length > 0 ? z.enum(services) : z.string();
  const choice = {
    service: one.optional().describe(SERVICE),
    services: z.array(one).min(1).max(MOST_SERVICES).optional().describe(SERVICES),
  };
  const fields = { ...extra, ...requestSchema.shape, ...OWN_FIELDS, prompt, ...choice };
  const examples = [
    { prompt: 'A red fox in the snow', duration: 5, resolution: '720p', aspect_ratio: '16:9' },
  ];
  return {
    service: z.strictObject(fields).meta({ id: 'VideoRequest', examples }),
    image: z.strictObject({ ...fields, image_url: image }).meta({
      id: 'ImageVideoRequest',
      examples: examples.map((one) => ({ ...one, image_url: 'https://example.com/fox.png' })),
    }),
    openAi: z.strictObject({ ...fields, ...openAiRequestSchema.shape, prompt }).meta({
      id: 'CreateVideo',
      examples: [{ prompt: 'A red fox in the snow', seconds: '4', size: '1280x720' }],
    }),
  };
}
