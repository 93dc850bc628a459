import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { cleanText, shown } from '../contract/clean-text';
import { LOST_SUBMIT_POLICIES } from '../contract/lost-submit';
import { isServiceName, type KnownServices, SERVICE_NAME_RULE } from '../contract/service-choice';
import { builtInProfile } from '../service/built-in-profiles';
import { describeIssue, parseProfile } from '../service/parse-profile';
import { profileSchema, type ServiceProfile } from '../service/profile';
import { oneOf, partOf, positiveNumber } from '../service/profile-forms';
import { readYamlFile } from './read-files';
import { hosts, serviceUrl } from './setting-forms';

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
      'How the service differs from the interface: the name of a built-in profile, a file relative to this one, or the profile itself.',
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
  onLostSubmit: oneOf(LOST_SUBMIT_POLICIES).optional().describe('For jobs that do not set it.'),
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
  requestFields: readonly string[];
};

/** The checked file. It has no keys in it, so clients and the gateway can have it too. */
export type ServicesFile = KnownServices<ServiceInFile>;

/** A built-in profile by its name, or that of a file; or what is wrong with it. */
export function readProfileNamed(name: string, folder?: string): ServiceProfile | string {
  const builtIn = builtInProfile(name);
  if (builtIn) return builtIn;
  const given = readYamlFile(name, { folder, not: 'neither a built-in profile nor' });
  if (!given.ok) return given.problem;
  const read = parseProfile(given.value);
  return read.ok ? read.profile : `names ${shown(name)}, a profile with a mistake (${read.problem})`;
}

/** The services of a file, or what is wrong with it, as a phrase that follows its name. */
export function readServicesFile(path: string): ServicesFile | string {
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
  const services: Record<string, ServiceInFile> = {};
  for (const [name, { key, profile: named, ...rest }] of Object.entries(data.services)) {
    const profile = typeof named === 'string' ? readProfileNamed(named, folder) : named;
    if (typeof profile === 'string') return `services.${name}.profile ${profile}`;
    services[name] = {
      ...rest,
      name,
      key: 'env' in key ? key : { file: resolve(folder, key.file) },
      ...(profile && { profile }),
      requestFields: profile?.requestFields ?? [],
    };
  }
  if (data.default !== undefined && !Object.hasOwn(services, data.default))
    return `default must be one of the services: ${Object.keys(services).join(', ')}`;
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
