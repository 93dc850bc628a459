import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../contract/lost-submit';
import { isServiceName, SERVICE_NAME_RULE } from '../contract/service-choice';
import { builtInProfile } from '../service/built-in-profiles';
import { describeIssue } from '../service/describe-issue';
import { parseProfile, pathOfProto, profileSchema, type ServiceProfile } from '../service/profile';
import { readTextFile } from './read-files';
import { hosts, serviceUrl } from './read-setting';
import { readYaml } from './read-yaml';

/** Each has a worker of its own for its submits. */
const MOST_SERVICES = 50;
/** Of one service: the one for new jobs, and those that running jobs began with. */
const MOST_KEYS = 20;
const LONGEST_TEXT_CHARS = 1_000;

const name = z.string().refine(isServiceName, SERVICE_NAME_RULE);
const text = z.string().trim().min(1).max(LONGEST_TEXT_CHARS);

const NOT_THE_KEY =
  'must not be the key itself: put the key into an environment variable and write { env: NAME }, or into a file and write { file: PATH }';

/** A name in capitals is shown in messages, so it must not be a key. Keys are long and have no words. */
const looksLikeVariable = (given: string) =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(given) && !/[A-Z0-9]{20}/.test(given);

const keySource = z
  .strictObject({
    env: z.string().refine(looksLikeVariable, NOT_THE_KEY).optional().describe('An environment variable.'),
    file: text
      .optional()
      .describe('A file, read at every call, so that you can rotate the key. Relative to this file.'),
  })
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), {
    error: 'must have either env or file',
  })
  .describe('Where a key is. The key itself is never in this file.');

const service = z
  .strictObject({
    baseUrl: serviceUrl.optional().describe('The address of the service.'),
    aiSdk: z
      .strictObject({
        package: text.describe('Such as @ai-sdk/fal; install it beside temporal-videogen.'),
        model: text.describe('The id of the video model, as the package takes it.'),
        baseUrl: serviceUrl.optional().describe('Instead of the address that the package knows.'),
      })
      .optional()
      .describe('Instead of baseUrl: a video model of the AI SDK.'),
    profile: z
      .union([text, profileSchema])
      .optional()
      .describe(
        'How it differs from the interface: a built-in profile by name, a file relative to this one, or here.',
      ),
    key: z
      .union([name, z.array(name).min(1).max(MOST_KEYS)])
      .describe(
        'The name of its key. Of several, the first is for new jobs; jobs that began with another keep it.',
      ),
    submitsPerSecond: z
      .number()
      .positive()
      .optional()
      .describe('How many submits per second all workers together may start.'),
    downloadAllow: z
      .array(z.string().pipe(hosts))
      .optional()
      .describe('Hosts whose videos may be at private addresses or without TLS.'),
    onLostSubmit: z.enum(LOST_SUBMIT_POLICIES).optional().describe('For jobs that do not say it.'),
  })
  .refine(({ baseUrl, aiSdk }) => (baseUrl === undefined) !== (aiSdk === undefined), {
    error: 'must have either baseUrl or aiSdk',
  });

export const servicesFileSchema = z
  .strictObject({
    $schema: z.string().optional(),
    keys: z.record(name, keySource).describe('Where the keys are, by names that jobs may carry.'),
    services: z
      .record(name, service)
      .refine((services) => Object.keys(services).length > 0, { error: 'must have at least one service' })
      .refine((services) => Object.keys(services).length <= MOST_SERVICES, {
        error: `must have at most ${MOST_SERVICES} services`,
      })
      .describe('The services, by the names that jobs use.'),
    default: name.optional().describe('The service of jobs that name none.'),
  })
  .describe('The video services of a worker of temporal-videogen.');

/** One service of the file. */
export interface ServiceInFile {
  name: string;
  baseUrl?: string | undefined;
  aiSdk?: { package: string; model: string; baseUrl?: string | undefined } | undefined;
  profile?: ServiceProfile | undefined;
  /** The names of its keys, that for new jobs first. */
  keys: readonly string[];
  submitsPerSecond?: number | undefined;
  downloadAllow: readonly string[];
  onLostSubmit?: LostSubmitPolicy | undefined;
}

/** Where a key is; of a file, its full path. */
export type KeySource = { env: string } | { file: string };

/** The checked file. It has no keys in it, so clients and the gateway can have it too. */
export interface ServicesFile {
  services: ReadonlyMap<string, ServiceInFile>;
  keys: ReadonlyMap<string, KeySource>;
  default: string | undefined;
}

/** The services of a file, or what is wrong with it, as a phrase that follows its name. */
export function readServicesFile(path: string): ServicesFile | string {
  let content: string;
  try {
    content = readTextFile(path);
  } catch (error) {
    return `is ${JSON.stringify(path)}, which is not a file that can be read (${errorCode(error) ?? 'no code'})`;
  }
  // JSON is YAML too.
  const given = readYaml(content);
  if (!given.ok) return `names a file that is not YAML (${given.problem})`;
  const parsed = parseServices(given.value, dirname(resolve(path)));
  return typeof parsed === 'string'
    ? `names a file with a mistake (${cleanText(parsed, LONGEST_TEXT_CHARS)})`
    : parsed;
}

/** The services, or the first problem, which begins with the path of the mistake. */
export function parseServices(given: unknown, folder: string): ServicesFile | string {
  const hidden = pathOfProto(given);
  if (hidden !== undefined) return `${hidden} is not known`;
  const parsed = servicesFileSchema.safeParse(given);
  if (!parsed.success) return problemOf(parsed.error, given);
  const { keys, services: entries, default: byDefault } = parsed.data;
  const services = new Map<string, ServiceInFile>();
  for (const [serviceName, entry] of Object.entries(entries)) {
    const { key, profile: givenProfile, downloadAllow = [], ...rest } = entry;
    const names = [...new Set([key].flat())];
    if (names.some((one) => !Object.hasOwn(keys, one)))
      return `services.${serviceName}.key must be one of the names in keys: ${Object.keys(keys).join(', ') || 'there are none'}`;
    const profile = typeof givenProfile === 'string' ? readProfileNamed(givenProfile, folder) : givenProfile;
    if (typeof profile === 'string') return `services.${serviceName}.profile ${profile}`;
    services.set(serviceName, {
      ...rest,
      name: serviceName,
      keys: names,
      downloadAllow: downloadAllow.flat(),
      ...(profile && { profile }),
    });
  }
  if (byDefault !== undefined && !services.has(byDefault))
    return `default must be one of the services: ${[...services.keys()].join(', ')}`;
  const sources = Object.entries(keys).map(([one, { env, file }]): [string, KeySource] => [
    one,
    file === undefined ? { env: env ?? '' } : { file: resolve(folder, file) },
  ]);
  return { services, keys: new Map(sources), default: byDefault };
}

const SECRET_FIELD = /key|token|secret|password/i;

/** No value of the file is shown: somebody may have put a key in the wrong place. */
function problemOf({ issues }: z.ZodError, given: unknown): string {
  // A misspelt name says more than the part that is missing because of it.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue === undefined) return 'it is wrong';
  const isKey = issue.path[0] === 'keys' && issue.path.length === 2 && issue.code === 'invalid_type';
  if (isKey) return `${issue.path.join('.')} ${NOT_THE_KEY}`;
  const [part, , field] = issue.path;
  if (part === 'services' && field === 'profile' && issue.code === 'invalid_union') {
    const own = parseProfile(
      issue.path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), given),
    );
    if (!own.ok) return `${issue.path.join('.')} has a mistake (${own.problem})`;
  }
  const [first = ''] = describeIssue(issue, 'the file');
  const isSecret = issue.code === 'unrecognized_keys' && issue.keys.some((one) => SECRET_FIELD.test(one));
  return isSecret
    ? `${first}: name a key of keys in key, and never write a key itself into this file`
    : first.replace(/of type record$/, 'an object');
}

/** The profile, or what is wrong with its file. */
function readProfileNamed(given: string, folder: string): ServiceProfile | string {
  const builtIn = builtInProfile(given);
  if (builtIn) return builtIn;
  let content: string;
  try {
    content = readTextFile(resolve(folder, given));
  } catch (error) {
    return `is ${JSON.stringify(given)}, neither a built-in profile nor a file that can be read (${errorCode(error) ?? 'no code'})`;
  }
  const read = readYaml(content);
  if (!read.ok) return `names a file that is not YAML (${read.problem})`;
  const parsed = parseProfile(read.value);
  return parsed.ok ? parsed.profile : `names a profile with a mistake (${parsed.problem})`;
}

/** The JSON Schema of the file, for editors. */
export function servicesJsonSchema(): object {
  return z.toJSONSchema(servicesFileSchema, { io: 'input' });
}
