import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../contract/lost-submit';
import {
  isServiceName,
  type KnownService,
  type KnownServices,
  SERVICE_NAME_RULE,
} from '../contract/service-choice';
import { describeIssue, parseProfile } from '../service/parse-profile';
import { profileSchema, type ServiceProfile } from '../service/profile';
import { oneOf, partOf, positiveNumber } from '../service/profile-forms';
import { readYamlFile, secretFile } from './read-files';
import {
  ConfigError,
  type Environment,
  hosts,
  parsed,
  readerOf,
  type SettingGroup,
  serviceUrl,
  withoutBlanks,
} from './read-setting';
import { API_KEY, namesAService, readBaseUrl, readProfileNamed } from './service-config';

/** Each has a worker of its own for its submits. */
const MOST_SERVICES = 50;
const MOST_SUBMITS_PER_SECOND = 1_000_000;
const LONGEST_TEXT_CHARS = 1_000;

const name = z.string(SERVICE_NAME_RULE).refine(isServiceName, SERVICE_NAME_RULE);
const line = z
  .string('must be a text')
  .trim()
  .min(1, 'must not be empty')
  .max(LONGEST_TEXT_CHARS, `must have at most ${LONGEST_TEXT_CHARS} characters`);

const NOT_THE_KEY =
  'must say where the key is, and must not be the key itself: put the key into an environment variable and write { env: NAME }, or into a file and write { file: PATH }';

/** A name in capitals is shown in messages, so it must not be a key. Keys are long and have no words. */
const looksLikeVariable = (given: string) =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(given) && !/[A-Z0-9]{20}/.test(given);

const keySource = partOf({
  env: z
    .string(NOT_THE_KEY)
    .refine(looksLikeVariable, NOT_THE_KEY)
    .optional()
    .describe('An environment variable.'),
  file: line
    .optional()
    .describe('A file, read at every call, so that you can rotate the key. Relative to this file.'),
})
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), {
    error: 'must have either env or file',
  })
  .describe('Where its key is. The key itself is never in this file.');

const service = partOf({
  baseUrl: serviceUrl.optional().describe('The address of the service.'),
  aiSdk: partOf({
    package: line.describe('Such as @ai-sdk/fal; install it next to temporal-videogen.'),
    model: line.describe('The id of the video model, as the package takes it.'),
    baseUrl: serviceUrl.optional().describe('Instead of the address that the package knows.'),
  })
    .optional()
    .describe('Instead of baseUrl: a video model of the AI SDK.'),
  profile: z
    .union([line, profileSchema])
    .optional()
    .describe(
      'How it differs from the interface: a built-in profile by name, a file relative to this one, or here.',
    ),
  key: keySource,
  submitsPerSecond: positiveNumber(MOST_SUBMITS_PER_SECOND, 2)
    .optional()
    .describe('How many submits per second all workers together may start.'),
  downloadAllow: z
    .array(z.string().pipe(hosts), 'must be a list of hosts')
    .optional()
    .describe('Hosts whose videos may be at private addresses or without TLS.'),
  onLostSubmit: oneOf(LOST_SUBMIT_POLICIES).optional().describe('For jobs that do not say it.'),
}).refine(({ baseUrl, aiSdk }) => (baseUrl === undefined) !== (aiSdk === undefined), {
  error: 'must have either baseUrl or aiSdk',
});

const servicesFileSchema = partOf({
  $schema: z.string().optional(),
  services: z
    .record(name, service, 'must be an object with the services by their names')
    .refine((services) => Object.keys(services).length > 0, { error: 'must have at least one service' })
    .refine((services) => Object.keys(services).length <= MOST_SERVICES, {
      error: `must have at most ${MOST_SERVICES} services`,
    })
    .describe('The services, by the names that jobs use.'),
  default: name.optional().describe('The service of jobs that name none.'),
}).describe('The video services of a worker of temporal-videogen.');

/** One service of the file. */
export interface ServiceInFile {
  name: string;
  baseUrl?: string | undefined;
  aiSdk?: { package: string; model: string; baseUrl?: string | undefined } | undefined;
  profile?: ServiceProfile | undefined;
  key: KeySource;
  submitsPerSecond?: number | undefined;
  downloadAllow: readonly string[];
  onLostSubmit?: LostSubmitPolicy | undefined;
}

/** Where a key is; of a file, its full path. */
type KeySource = { env: string } | { file: string };

/** The checked file. It has no keys in it, so clients and the gateway can have it too. */
export interface ServicesFile {
  services: ReadonlyMap<string, ServiceInFile>;
  default: string | undefined;
}

/** The services of a file, or what is wrong with it, as a phrase that follows its name. */
function readServicesFile(path: string): ServicesFile | string {
  const given = readYamlFile(path);
  if (!given.ok) return given.problem;
  const file = parseServices(given.value, dirname(resolve(path)));
  return typeof file === 'string'
    ? `names a file with a mistake (${cleanText(file, LONGEST_TEXT_CHARS)})`
    : file;
}

/** The services, or the first problem, which begins with the path of the mistake. */
function parseServices(given: unknown, folder: string): ServicesFile | string {
  const { success, data, error } = servicesFileSchema.safeParse(given);
  if (!success) return problemOf(error, given);
  const { services: entries, default: byDefault } = data;
  const services = new Map<string, ServiceInFile>();
  for (const [serviceName, entry] of Object.entries(entries)) {
    const { key, profile: givenProfile, downloadAllow = [], ...rest } = entry;
    const profile = typeof givenProfile === 'string' ? readProfileNamed(givenProfile, folder) : givenProfile;
    const inline = typeof givenProfile === 'object' ? parseProfile(givenProfile) : undefined;
    if (inline?.ok === false) return `services.${serviceName}.profile has a mistake (${inline.problem})`;
    if (typeof profile === 'string') return `services.${serviceName}.profile ${profile}`;
    services.set(serviceName, {
      ...rest,
      name: serviceName,
      key: key.file === undefined ? { env: key.env ?? '' } : { file: resolve(folder, key.file) },
      downloadAllow: downloadAllow.flat(),
      ...(profile && { profile }),
    });
  }
  if (byDefault !== undefined && !services.has(byDefault))
    return `default must be one of the services: ${[...services.keys()].join(', ')}`;
  return { services, default: byDefault };
}

const SECRET_FIELD = /key|token|secret|password/i;

/** No value of the file is shown: somebody may have put a key in the wrong place. */
function problemOf({ issues }: z.ZodError, given: unknown): string {
  // A misspelt name says more than the part that is missing because of it.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue === undefined) return 'it is wrong';
  const [part, , field, more] = issue.path;
  const isInService = part === 'services' && more === undefined;
  if (isInService && field === 'key' && issue.code === 'invalid_type')
    return `${issue.path.join('.')} ${NOT_THE_KEY}`;
  if (isInService && field === 'profile' && issue.code === 'invalid_union') {
    const own = parseProfile(
      issue.path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), given),
    );
    if (!own.ok) return `${issue.path.join('.')} has a mistake (${own.problem})`;
  }
  const secret = issue.code === 'unrecognized_keys' && issue.keys.find((one) => SECRET_FIELD.test(one));
  if (secret) {
    const at = [...issue.path, secret].join('.');
    return `${at} is not known: say in key of the service where its key is, and never write a key itself into this file`;
  }
  return describeIssue(issue, 'the file')[0] ?? 'it is wrong';
}

/** The JSON Schema of the file, for editors. */
export function servicesJsonSchema(): object {
  return z.toJSONSchema(servicesFileSchema, { io: 'input' });
}

export const SERVICES_SETTINGS = {
  VIDEOGEN_SERVICES_FILE: {
    type: parsed(readServicesFile).optional(),
    meaning:
      'Several services with names: a YAML or JSON file, for workers and those who start jobs. [More](several-services.md)',
    unset: 'only the service in `VIDEO_API_BASE_URL`',
    fix: 'correct the file as docs/several-services.md shows it, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(SERVICES_SETTINGS);

/** The services of the file in `VIDEOGEN_SERVICES_FILE`, without their keys; undefined without it. */
export function readServices(env?: Environment): ServicesFile | undefined {
  return read('VIDEOGEN_SERVICES_FILE', env);
}

/** Whether commands on this machine use the emulator, because the settings name no service. */
export function usesEmulator(env: Environment = process.env): boolean {
  return !namesAService(env) && withoutBlanks(env).VIDEOGEN_SERVICES_FILE === undefined;
}

/** The services of the settings, whatever their keys and limits are; undefined for the emulator. */
export function servicesInUse(env?: Environment): string | undefined {
  const file = readServices(env);
  const unnamed = namesAService(env) ? readBaseUrl(env) : undefined;
  if (file === undefined) return unnamed;
  const named = [...file.services.values()].map(({ name, baseUrl, aiSdk }) => ({ name, baseUrl, aiSdk }));
  return JSON.stringify({ unnamed, default: file.default, named });
}

/** What the file says about a service to those who start jobs. */
export interface ServiceOfFile extends KnownService {
  profile: ServiceInFile['profile'];
}

/** The same, for those who start jobs. */
export function readKnownServices(env?: Environment): KnownServices<ServiceOfFile> | undefined {
  const file = readServices(env);
  if (file === undefined) return undefined;
  const services = [...file.services].map(([name, { profile }]): [string, ServiceOfFile] => [
    name,
    { profile, requestFields: profile?.requestFields ?? [] },
  ]);
  return { services: Object.fromEntries(services), default: file.default };
}

/** The keys of the file that can be read here, to hide them in what is shown. */
export function readableKeys(env?: Environment): string[] {
  // A key that cannot be read is never sent, so nobody can quote it.
  const ifReadable = <T>(read: () => T[]): T[] => {
    try {
      return read();
    } catch {
      return [];
    }
  };
  const services = ifReadable(() => [...(readServices(env)?.services.values() ?? [])]);
  return services.flatMap((service) => ifReadable(() => [keyReader(service, env)()]));
}

/** Reads the key of a service of the file, at every call. Throws at once if it cannot be read. */
export function keyReader(
  service: Pick<ServiceInFile, 'name' | 'key'>,
  env: Environment = process.env,
): () => string {
  const { name, key } = service;
  const place = `services.${name}.key of VIDEOGEN_SERVICES_FILE`;
  if ('file' in key) {
    const fix = 'name a file that can be read and has the key in it, on one line';
    return secretFile(place, { fix, type: API_KEY.optional() }, key.file);
  }
  const value = env[key.env]?.trim() ?? '';
  const { error } = API_KEY.safeParse(value);
  const problem = value === '' ? 'is not set' : error?.issues[0]?.message;
  if (problem === undefined) return () => value;
  throw new ConfigError(
    `${place} names ${key.env}, which ${problem}: set it to the key as the service gave it, on one line.`,
  );
}
