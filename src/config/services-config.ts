import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { LOST_SUBMIT_POLICIES } from '../contract/lost-submit';
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
  type Environment,
  hosts,
  parsed,
  problemWith,
  readerOf,
  type SettingGroup,
  serviceUrl,
  withoutBlanks,
} from './read-setting';
import { API_KEY, namesAService, readBaseUrl, readProfileNamed } from './service-config';

/** Each has a worker of its own for its submits. */
const MOST_SERVICES = 50;
const inRange = (count: number) => count > 0 && count <= MOST_SERVICES;
const MOST_SUBMITS_PER_SECOND = 1_000_000;
const LONGEST_TEXT_CHARS = 1_000;

const name = z.string(SERVICE_NAME_RULE).refine(isServiceName, SERVICE_NAME_RULE);
const line = z
  .string('must be a text')
  .trim()
  .min(1, 'must not be empty')
  .max(LONGEST_TEXT_CHARS, `must have at most ${LONGEST_TEXT_CHARS} characters`);

/** A name in capitals is shown in messages, so it must not be a key. Keys are long and have no words. */
const looksLikeVariable = (given: string) =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(given) && !/[A-Z0-9]{20}/.test(given);

/** Without a value: somebody may have written the key itself. */
const NOT_THE_KEY =
  'must say where the key is, and must not be the key itself: put the key into an environment variable and write { env: NAME }, or into a file and write { file: PATH }';

const variable = z.string().refine(looksLikeVariable, NOT_THE_KEY).describe('An environment variable.');
const keyFile = line.describe(
  'A file, read at every call, so that you can rotate the key. Relative to this file.',
);
const keySource = z
  .union([partOf({ env: variable }), partOf({ file: keyFile })], NOT_THE_KEY)
  .describe('Where its key is. The key itself is never in this file.');

const inlineProfileProblem = {
  error: ({ input }: { input?: unknown }) => {
    const read = parseProfile(input);
    return read.ok ? undefined : `has a mistake (${read.problem})`;
  },
};

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
    .union([line, profileSchema], inlineProfileProblem)
    .refine((given) => typeof given === 'string' || parseProfile(given).ok, inlineProfileProblem)
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
    .transform((lists) => lists.flat())
    .default([])
    .describe('Hosts whose videos may be at private addresses or without TLS.'),
  onLostSubmit: oneOf(LOST_SUBMIT_POLICIES).optional().describe('For jobs that do not say it.'),
}).refine(({ baseUrl, aiSdk }) => (baseUrl === undefined) !== (aiSdk === undefined), {
  error: 'must have either baseUrl or aiSdk',
});

const servicesFileSchema = partOf({
  $schema: z.string().optional(),
  services: z
    .record(name, service, 'must be an object with the services by their names')
    .refine((services) => inRange(Object.keys(services).length), {
      error: `must have 1 to ${MOST_SERVICES} services`,
    })
    .describe('The services, by the names that jobs use.'),
  default: name.optional().describe('The service of jobs that name none.'),
}).describe('The video services of a worker of temporal-videogen.');

/** One service of the file. The path of its key is absolute. */
export type ServiceInFile = Omit<z.infer<typeof service>, 'profile'> & {
  name: string;
  profile?: ServiceProfile | undefined;
};

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
  if (!success) return problemOf(error);
  const services = new Map<string, ServiceInFile>();
  for (const [name, { key, profile: named, ...rest }] of Object.entries(data.services)) {
    const profile = typeof named === 'string' ? readProfileNamed(named, folder) : named;
    if (typeof profile === 'string') return `services.${name}.profile ${profile}`;
    services.set(name, {
      ...rest,
      name,
      key: 'env' in key ? key : { file: resolve(folder, key.file) },
      ...(profile && { profile }),
    });
  }
  if (data.default !== undefined && !services.has(data.default))
    return `default must be one of the services: ${[...services.keys()].join(', ')}`;
  return { services, default: data.default };
}

function problemOf({ issues }: z.ZodError): string {
  // A misspelt name says more than the part that is missing because of it.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  return (issue && describeIssue(issue, 'the file')[0]) ?? 'it is wrong';
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
  const setting = { fix: 'put the key there as the service gave it, on one line', type: API_KEY.optional() };
  if ('file' in key) return secretFile(place, setting, key.file);
  const { data, error } = API_KEY.min(1, 'is not set').safeParse(env[key.env] ?? '');
  if (data !== undefined) return () => data;
  throw problemWith(`${place} names ${key.env}, which`, setting, error.issues[0]?.message ?? 'is wrong');
}
