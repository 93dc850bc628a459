import type { GivenChoice } from '../client/pin-choice';
import { ConfigError } from '../config/read-setting';
import { CAP_FIELDS, type Cap } from '../contract/caps';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobInput } from '../contract/job';
import { parseJobInput } from '../contract/job-input';
import { VideoFailure } from '../contract/video-failure';

/** The options that `generate` and `batch` share. */
export interface JobOptions {
  id?: string;
  json?: boolean;
  wait: boolean;
  deadline?: string;
  onLostSubmit?: string;
  holdFor?: string;
  storage?: string;
  cap?: string[];
  service?: string;
}

export interface GenerateOptions extends JobOptions {
  imageUrl?: string;
  image?: string;
  resolution?: string;
  aspectRatio?: string;
  duration?: string;
  seed?: string;
  field?: string[];
  out?: string;
  adopt?: string;
}

/** What the settings say about a new job. */
interface JobSettings {
  onEmulator: boolean;
  choice?: GivenChoice;
  /** Further fields that its request may have. */
  requestFields?: readonly string[] | undefined;
}

/** The input of the job, or undefined if the command line only names a job to follow. */
export function readJobInput(
  prompt: string | undefined,
  options: GenerateOptions,
  { onEmulator, choice = {}, requestFields = [] }: JobSettings,
): JobInput | undefined {
  const { imageUrl, resolution, aspectRatio, duration, seed, adopt, id } = options;
  checkId(id);
  const request = defined({
    prompt,
    image_url: imageUrl,
    resolution,
    aspect_ratio: aspectRatio,
    duration: number(duration),
    seed: number(seed),
    ...fields(options.field),
  });
  const hasRequest = Object.keys(request).length > 0;
  if (!hasRequest && adopt === undefined) {
    if (id !== undefined) return undefined;
    throw refused(
      'there is no prompt: describe the video, such as videogen generate "A red fox in the snow"',
    );
  }
  const source = defined({ request: hasRequest ? request : undefined, taskId: adopt });
  const parsed = parseJobInput({ ...source, ...sharedInput(options, onEmulator), ...choice }, requestFields);
  if (!parsed.ok) throw refused(parsed.problem);
  return parsed.input;
}

/** What the options that `generate` and `batch` share say in the input. */
export function sharedInput(options: JobOptions, onEmulator: boolean): Record<string, unknown> {
  const { deadline, onLostSubmit, holdFor, storage, cap } = options;
  // The emulator's generations are short, and polls cost nothing.
  const polling = onEmulator ? { min: '1s', max: '1s' } : undefined;
  return defined({ deadline, onLostSubmit, holdFor, storage, cap: readCap(cap), polling });
}

/** Checks the name of a job or a batch, if one is given. */
export function checkId(id: string | undefined): void {
  if (id !== undefined && !isWorkflowId(id)) throw refused(`--id ${WORKFLOW_ID_RULE}`);
}

/** `model=m1` and `size={"w":640}`: a value is JSON, or text if it is not valid JSON. */
function fields(given: string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [name = '', value] = text.split(/=(.*)/s);
      if (name === '' || value === undefined)
        throw refused(`--field is ${JSON.stringify(text)}: give NAME=VALUE`);
      return [name, jsonOr(value)];
    }),
  );
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A text that is not a number stays text, so that the request's own rules report it. */
export function number(text: string | undefined): number | string | undefined {
  return text !== undefined && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** A command line or a file of requests that cannot be taken. */
export function refused(message: string): VideoFailure {
  return new VideoFailure('InvalidRequest', { message });
}

/** `--cap "3 videos" "2.50 USD"`: the last word is the unit, or the currency. */
export function readCap(given: string[] | undefined): Cap | undefined {
  if (given === undefined) return undefined;
  const limits = given.map(readLimit);
  const units = limits.flatMap(Object.keys);
  const twice = units.find((unit, index) => units.indexOf(unit) !== index);
  if (twice !== undefined) throw new ConfigError(`--cap has two limits in ${twice}: give one.`);
  return Object.assign({}, ...limits);
}

function readLimit(text: string): Cap {
  const [, digits = '', unit = ''] = /^\s*([\d.]+)\s*([A-Za-z][\w-]*)\s*$/.exec(text) ?? [];
  const value = Number(digits);
  if (/^videos?$/.test(unit) && CAP_FIELDS.videos.accepts(value)) return { videos: value };
  if (/^(seconds?|s)$/.test(unit) && CAP_FIELDS.seconds.accepts(value)) return { seconds: value };
  const money = { amount: value, currency: unit };
  if (digits !== '' && !/^(videos?|seconds?|s)$/.test(unit) && CAP_FIELDS.money.accepts(money))
    return { money };
  throw new ConfigError(
    `--cap is ${JSON.stringify(text)}: give a number with videos, seconds or a currency, such as "2.50 USD".`,
  );
}
