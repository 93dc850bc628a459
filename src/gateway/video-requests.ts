import { z } from 'zod';
import { SIZES, shapeOf, sizeOf } from '../client/video-size';
import { FALLBACK_FIELDS, JOB_FIELDS } from '../contract/input-rules';
import type { FallbackInput, JobOptions } from '../contract/job';
import { MAX_DURATION_SECONDS, parseRequest, requestSchema, type VideoRequest } from '../contract/request';
import { choiceProblem, type KnownServices, MOST_SERVICES, pinChoice } from '../contract/service-choice';
import { badField, badFieldOf, refusal } from './http-errors';
import type { Asked } from './video-object';

/** The memo of a workflow is small, and a list shows one line of a prompt. */
export const LONGEST_SHOWN_PROMPT_CHARS = 500;

/** The options of a video: with `services`, those of a job that tries several. */
type VideoOptions = JobOptions & Partial<Pick<FallbackInput, 'services'>>;

/** A request to the service, what answers show of it, and the options of its job. */
export interface Wanted {
  request: VideoRequest;
  asked: Asked;
  options: VideoOptions;
}

/** What the gateway knows about the services of the workers. */
export interface ServicesOfGateway {
  /** Fields that the service takes beyond its interface. */
  requestFields: readonly string[];
  /** Undefined if the workers alone know theirs. */
  services?: KnownServices | undefined;
}

/** The body of POST /v1/videos/text-to-video, of POST /v1/videos/image-to-video, or as OpenAI's clients send it. */
export type BodyKind = 'text' | 'image' | 'openai';

/** Reads the body of a POST, in which references stand for images. */
export function readVideoRequest(
  kind: BodyKind,
  body: unknown,
  { requestFields, services }: ServicesOfGateway,
): Wanted {
  const given = takeJobOptions(body);
  const model = kind === 'openai' ? Object(given.body).model : undefined;
  const { options, known } = chooseService(given.options, model, services);
  const fields = known?.requestFields ?? requestFields;
  if (kind === 'openai') return { ...readOpenAiRequest(given.body, fields), options };
  const request = checked(given.body, fields);
  if (kind === 'image' && request.image_url === undefined) {
    throw badField(
      'image_url',
      'image_url is missing: POST /v1/videos/text-to-video makes a video without an image.',
    );
  }
  return { request, asked: askedOf(request, undefined), options };
}

const FIELDS = { ...JOB_FIELDS, ...FALLBACK_FIELDS };

/** The fields that are for the gateway and not for the service, and the job options they become. */
const OPTIONS = { callback_url: 'callbackUrl', service: 'service', services: 'services' } as const;

/** The body without them, and the options. */
function takeJobOptions(body: unknown): { body: unknown; options: VideoOptions } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, options: {} };
  const rest = Object.entries(body).filter(([name]) => !Object.hasOwn(OPTIONS, name));
  const options = Object.entries(OPTIONS).flatMap(([param, name]) => {
    const given: unknown = Reflect.get(body, param);
    // A form sends a list as text.
    const isText = param === 'services' && typeof given === 'string';
    const value = isText ? given.split(',').map((one) => one.trim()) : given;
    if (value === undefined || value === null) return [];
    const { accepts, sentence } = FIELDS[name];
    if (accepts(value)) return [[name, value]];
    throw badField(param, `${param} ${sentence}.`);
  });
  return { body: Object.fromEntries(rest), options: Object.fromEntries(options) };
}

/**
 * The options with the service of a request, or with the services to try. A `model` that is the name of a service means it,
 * because OpenAI's clients have no other field.
 */
function chooseService(options: VideoOptions, model: unknown, services: ServicesOfGateway['services']) {
  const problem = choiceProblem(options);
  if (problem !== undefined) throw badField('services', `${problem}.`);
  if (services === undefined) return { options };
  const isService = typeof model === 'string' && Object.hasOwn(services.services, model);
  const { service = isService ? model : undefined, services: several } = options;
  const { choice, known } = pinChoice({ service, services: several }, services, (unknown, field) =>
    badField(field, `${unknown}.`),
  );
  return { options: { ...options, ...choice }, known };
}

const SECONDS_RULE = `must be a whole number of at most ${MAX_DURATION_SECONDS}, such as "4"`;
const REFERENCE_RULE = 'must be the URL of an image, or an object with image_url';

/** What OpenAI's clients send in place of fields of the service's interface. */
const openAiFields = {
  model: z
    .string('must be text')
    .optional()
    .describe('Shown in answers. The name of a service chooses that one.'),
  seconds: z
    .union([z.string(), z.number()], SECONDS_RULE)
    .refine((given) => Number.isInteger(Number(given)) && Number(given) <= MAX_DURATION_SECONDS, SECONDS_RULE)
    .optional()
    .describe('The length: 1 to 10.'),
  size: z
    .enum(SIZES, `must be one of ${SIZES.join(', ')}`)
    .optional()
    .describe('Width and height.'),
  input_reference: z
    .union([z.string(), z.object({ image_url: z.string() })], REFERENCE_RULE)
    .nullish()
    .describe('An image to start from: its URL, or {"image_url": URL}.'),
};
const openAiBody = z.looseObject(openAiFields, 'The body must be a JSON object with a prompt.');

/** The body of POST /v1/videos. It may have fields of the service's interface too. */
function readOpenAiRequest(body: unknown, requestFields: readonly string[]): Omit<Wanted, 'options'> {
  const { data, error } = openAiBody.safeParse(body);
  if (error) throw badFieldOf(error);
  const { model, seconds, size, input_reference: image, ...rest } = data;
  const fields = {
    ...rest,
    ...(seconds !== undefined && { duration: Number(seconds) }),
    ...(size !== undefined && shapeOf(size)),
    ...(image && { image_url: typeof image === 'string' ? image : image.image_url }),
  };
  const request = checked(fields, requestFields);
  return { request, asked: askedOf(request, model) };
}

function checked(body: unknown, requestFields: readonly string[]): VideoRequest {
  const parsed = parseRequest(body, requestFields);
  if (parsed.ok) return parsed.request;
  const { field, problem } = parsed;
  throw badField(field, problem.endsWith('?') ? problem : `${problem}.`);
}

/** Without half a character at its end, for which strict readers of JSON refuse the whole answer. */
const beginningOf = (text: string, chars: number) => text.slice(0, chars).replace(/\p{Cs}$/u, '');

function askedOf(request: VideoRequest, model: string | undefined): Asked {
  const { prompt, duration, seed } = request;
  const size = sizeOf(request);
  return {
    prompt: beginningOf(prompt, LONGEST_SHOWN_PROMPT_CHARS),
    ...(model !== undefined && { model: beginningOf(model, 100) }),
    ...(duration !== undefined && { seconds: String(duration) }),
    ...(size !== undefined && { size }),
    ...(seed !== undefined && { seed }),
  };
}

const FORM_NUMBERS = new Set(['duration', 'seed']);

/**
 * The body of a form, whose numbers are text. Text that is not a number is left to the rules of its field. The reader of forms
 * cuts a text off at its limit and says nothing: half an image would be paid for.
 */
export function readForm(body: unknown, largestTextBytes: number): Record<string, unknown> {
  const fields = Object.entries<unknown>(Object(body)).map(([name, value]) => {
    const texts = [value].flat().filter((one) => typeof one === 'string');
    if (texts.some((text) => Buffer.byteLength(text) >= largestTextBytes))
      throw refusal('field_too_large', {
        advice: 'Send the image as the file of the form, or with POST /v1/images.',
        param: name,
      });
    const isNumber = FORM_NUMBERS.has(name) && typeof value === 'string' && /^-?\d{1,15}$/.test(value);
    return [name, isNumber ? Number(value) : value];
  });
  return Object.fromEntries(fields);
}

const prompt = z.string().regex(/\S/).describe('What the video shows.');
const image = z.url().describe('The address of the image to start from.');

/** The bodies, for the description of the interface. */
export function documentedBodies({ requestFields, services }: ServicesOfGateway) {
  const extra = Object.fromEntries(requestFields.map((name) => [name, z.unknown().optional()]));
  const names = Object.keys(services?.services ?? {});
  const one = names.length > 0 ? z.enum(names) : z.string();
  const fields = {
    ...extra,
    ...requestSchema.shape,
    prompt,
    callback_url: z
      .string()
      .optional()
      .describe('Called when the video is there, has failed or needs a decision.'),
    service: one.optional().describe('Which of the services makes the video.'),
    services: z
      .array(one)
      .min(1)
      .max(MOST_SERVICES)
      .optional()
      .describe('Instead of `service`: those to try, in this order.'),
  };
  const example = { prompt: 'A red fox in the snow', duration: 5, resolution: '720p', aspect_ratio: '16:9' };
  return {
    text: z.strictObject(fields).meta({ id: 'VideoRequest', examples: [example] }),
    image: z.strictObject({ ...fields, image_url: image }).meta({
      id: 'ImageVideoRequest',
      examples: [{ ...example, image_url: 'https://example.com/fox.png' }],
    }),
    openai: z.strictObject({ ...fields, ...openAiFields }).meta({
      id: 'CreateVideo',
      examples: [{ prompt: 'A red fox in the snow', seconds: '4', size: '1280x720' }],
    }),
  };
}
