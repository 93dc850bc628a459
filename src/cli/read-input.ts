import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  ConfigError,
  type Environment,
  namesAService,
  readServiceConfig,
  usesEmulator,
} from '../config/service-config';
import { readSetting } from '../config/settings';
import { readStorageConfig } from '../config/storage-config';
import type { BatchInput } from '../contract/batch';
import { CAP_FIELDS, type Cap } from '../contract/caps';
import { jsonIn, shown } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobInput } from '../contract/job';
import { parseBatchInput, parseJobInput } from '../contract/job-input';
import { readMoney } from '../contract/money';
import { parseRequestLines, type VideoRequest } from '../contract/request';
import { pinChoice, servicesOf } from '../contract/service-choice';
import { requestsFileProblem } from '../contract/sizes';
import { VideoFailure } from '../contract/video-failure';
import { createStorage, StorageFault } from '../storage';

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
  service?: string | undefined;
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

/** The input of the job, or undefined if the command line only names a job to follow. */
export function readJobInput(
  prompt: string | undefined,
  options: GenerateOptions,
  env: Environment,
): JobInput | undefined {
  const { imageUrl, resolution, aspectRatio, duration, seed, adopt, id } = options;
  const { choice, requestFields } = chooseService(options.service, env);
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
  const parsed = parseJobInput({ ...source, ...sharedInput(options, env), ...choice }, requestFields);
  if (!parsed.ok) throw refused(parsed.problem);
  return parsed.input;
}

/**
 * The service of a command, what is known about it here, and further fields that its requests may have. Refuses a name that the
 * file of services does not have; without a file, the worker knows.
 */
export function chooseService(service: string | undefined, env: Environment) {
  const several = service?.split(',').map((name) => name.trim()) ?? [];
  const given = several.length > 1 ? { services: several } : { service };
  const { choice, known } = pinChoice(given, readSetting('VIDEOGEN_SERVICES_FILE', env), refused);
  const requestFields = known?.requestFields ?? readSetting('VIDEOGEN_PROFILE', env)?.requestFields;
  return { choice, known, requestFields };
}

/** What the options that `generate` and `batch` share say in the input. */
function sharedInput(options: JobOptions, env: Environment): Record<string, unknown> {
  const { deadline, onLostSubmit, holdFor, storage, cap } = options;
  // The emulator's generations are short, and polls cost nothing.
  const polling = usesEmulator(env) ? { min: '1s', max: '1s' } : undefined;
  return defined({ deadline, onLostSubmit, holdFor, storage, cap: readCap(cap), polling });
}

/** Checks the name of a job or a batch, if one is given. */
function checkId(id: string | undefined): void {
  if (id !== undefined && !isWorkflowId(id)) throw refused(`--id ${WORKFLOW_ID_RULE}`);
}

/** `model=m1` and `size={"w":640}`: a value is JSON, or text if it is not valid JSON. */
function fields(given: string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [name = '', value] = text.split(/=(.*)/s);
      if (name === '' || value === undefined)
        throw refused(`--field is ${JSON.stringify(text)}: give NAME=VALUE`);
      const parsed = jsonIn(value);
      return [name, parsed === undefined ? value : parsed];
    }),
  );
}

/** A text that is not a number stays text, so that the request's own rules report it. */
function number(text: string | undefined): number | string | undefined {
  return text !== undefined && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
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
  const [, digits, unit = ''] = /^\s*([\d.]+)\s*([A-Za-z][\w-]*)\s*$/.exec(text) ?? [];
  const value = Number(digits);
  if (/^videos?$/.test(unit) && CAP_FIELDS.videos.accepts(value)) return { videos: value };
  if (/^(seconds?|s)$/.test(unit) && CAP_FIELDS.seconds.accepts(value)) return { seconds: value };
  const money = readMoney({ amount: value, currency: unit });
  if (money && !/^(video|second|s)$/.test(unit)) return { money };
  throw new ConfigError(
    `--cap is ${JSON.stringify(text)}: give a number with videos, seconds or a currency, such as "2.50 USD".`,
  );
}

export interface BatchSettings extends JobOptions {
  window?: string;
  onFailure?: string;
}

/** Larger requests go through the storage instead of the workflow's input. */
const MAX_INLINE_BYTES = 200_000;

/** A batch as read from the command line and its file. */
export interface BatchOrder {
  workflowId: string;
  requests: VideoRequest[];
  /** The requests or their key in the storage, and the options for all of them. */
  input: BatchInput;
}

export async function readBatch(file: string, options: BatchSettings, env: Environment): Promise<BatchOrder> {
  checkId(options.id);
  const { choice, requestFields: extraFields } = chooseService(options.service, env);
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new ConfigError(
      `${file} cannot be read (${errorCode(error)}): give a file with one request per line.`,
    );
  });
  const tooLarge = requestsFileProblem(Buffer.byteLength(content));
  if (tooLarge !== undefined) throw refused(`${file}: ${tooLarge}`);
  const lines = parseRequestLines(content, file, extraFields);
  if (!lines.ok) throw new BadLines(lines.problems);
  const digest = digestOf(content);
  const isInline = Buffer.byteLength(content) <= MAX_INLINE_BYTES;
  const requestsFrom = `batches/requests-${digest.slice(0, 32)}.jsonl`;
  const parsed = parseBatchInput(
    {
      ...(isInline ? { requests: lines.requests } : { requestsFrom }),
      ...defined({ window: number(options.window), onFailure: options.onFailure }),
      ...sharedInput(options, env),
      ...choice,
    },
    extraFields,
  );
  if (!parsed.ok) throw refused(parsed.problem);
  if (!isInline) await putRequests(requestsFrom, lines.requests, env);
  // The same requests to another service are another batch.
  const service = servicesOf(choice).join(',') || (namesAService(env) ? readServiceConfig(env).baseUrl : '');
  return {
    workflowId: options.id ?? `batch-${digestOf(digest, service).slice(0, 12)}`,
    requests: lines.requests,
    input: parsed.input,
  };
}

/** Stores the requests for the worker. The key is a digest of the content, so another file never overwrites it. */
async function putRequests(key: string, requests: VideoRequest[], env: Environment): Promise<void> {
  const lines = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
  try {
    await createStorage(readStorageConfig(env)).write(key, lines, 'application/x-ndjson');
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    const message = `the requests are too large to start a batch without the storage; ${error.message}`;
    throw new VideoFailure('StorageFailed', { message });
  }
}

function digestOf(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** A file of requests with problems: one message for programs, a line for each problem for people. */
export class BadLines extends VideoFailure {
  readonly lines: readonly string[];

  constructor(problems: readonly string[]) {
    super('InvalidRequest', { message: problems.join('; ') });
    const nothing = 'Nothing was started. Correct the file and run the command again.';
    this.lines = [...problems.map(shown), nothing];
  }
}
