import { z } from 'zod';
import { cleanText } from '../contract/clean-text';

/** Environment variables by name, as in `process.env`. */
export type Environment = Record<string, string | undefined>;

/** A setting is missing or wrong. The message is one line: the variable, the problem, the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  /** The message may quote a value or a file. */
  constructor(message: string, options?: ErrorOptions) {
    super(cleanText(message, LONGEST_MESSAGE_CHARS), options);
  }
}

const LONGEST_MESSAGE_CHARS = 4_000;
/** Leaves room for the fix. */
const LONGEST_PROBLEM_CHARS = 1_000;

/** One environment variable. Readers, `videogen doctor` and the configuration page are made from it. */
export interface Setting<Value = unknown> {
  /** Reads the text. The message of an issue is the problem and follows the variable's name. */
  type: z.ZodType<Value, string | undefined>;
  /** What it means, in one sentence of markdown, with a link to the page that has more about it. */
  meaning: string;
  /** What applies while it is unset, if the type has no default. */
  unset?: string;
  /** What to do about a problem, if it is not plain; follows the problem in its sentence. */
  fix?: string;
  /** Blank is a mistake. Elsewhere it means unset, because compose files and CI systems hand unset variables over blank. */
  refusesBlank?: boolean;
  /** Its value is never shown, and may be in the file that `NAME_FILE` names instead. */
  isSecret?: boolean;
}

export type SettingGroup = Record<string, Setting>;

/** Reads single settings of a group; throws a ConfigError for a value that is wrong. */
export function readerOf<Values>(group: { [Name in keyof Values]: Setting<Values[Name]> }) {
  return <Name extends keyof Values & string>(name: Name, env: Environment = process.env): Values[Name] =>
    readSetting(name, group[name], env);
}

export function readSetting<Value>(name: string, setting: Setting<Value>, env: Environment): Value {
  const isUnset = isBlank(env[name]) && !setting.refusesBlank;
  const result = setting.type.safeParse(isUnset ? undefined : env[name]);
  if (result.success) return result.data;
  throw problemWith(name, setting, result.error.issues[0]?.message ?? 'is wrong');
}

/** `VIDEOGEN_STORAGE starts with gs://, which is not supported: give a folder, …` */
export function problemWith(
  name: string,
  { fix = 'correct or unset it' }: Pick<Setting, 'fix'>,
  problem: string,
): ConfigError {
  return new ConfigError(`${name} ${cleanText(problem, LONGEST_PROBLEM_CHARS)}: ${fix}.`);
}

const isBlank = (value: string | undefined) => value?.trim() === '';

export function withoutBlanks(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      // Blank, such a variable removes the header that the profile file sets.
      return value !== undefined && (!isBlank(value) || name.startsWith('TEMPORAL_GRPC_META_'));
    }),
  );
}

export const text = z.string().trim();

/** A text with a meaning of its own: the function returns that, or what is wrong as a phrase that follows the name. */
export function parsed<T extends object>(read: (given: string) => T | string) {
  return text.transform((given, { addIssue }): T => {
    const found = read(given);
    if (typeof found !== 'string') return found;
    addIssue(found);
    return z.NEVER;
  });
}

export const flag = text.pipe(
  z.stringbool({
    truthy: ['true', '1'],
    falsy: ['false', '0'],
    error: ({ input }) => `is ${JSON.stringify(input)}, neither true nor false`,
  }),
);

/** For values that may be shown. */
export const quoted = { error: ({ input }: { input?: unknown }) => `is ${JSON.stringify(input)}` };

export const httpUrl = (problem: string) =>
  text.pipe(z.url({ protocol: /^https?$/, error: problem, abort: true }));

/** The address of a video service. */
export const serviceUrl = httpUrl('is not an http(s) URL')
  .transform((address) => new URL(address))
  .refine(
    ({ username, password, search, hash }) => !(username || password || search || hash),
    'has a user, a query or a fragment',
  )
  .transform(({ href }) => href);

/** Values separated by commas. */
export const listOf = (isValid: (value: string) => boolean, problem: (wrong: string) => string) =>
  parsed<string[]>((given) => {
    const list = given
      .split(',')
      .map((value) => value.trim())
      .filter(Boolean);
    const wrong = list.find((value) => !isValid(value));
    return wrong === undefined ? list : problem(wrong);
  });

/** Names or addresses of hosts, separated by commas. */
export const hosts = text.toLowerCase().pipe(
  listOf(
    (host) => /^[a-z0-9._-]+$|^\[?[0-9a-f:.]+\]?$/.test(host),
    (wrong) => `has ${JSON.stringify(wrong)} in it`,
  ),
);

export const HOSTS_FIX =
  'give names or addresses of hosts, separated by commas, without scheme, port and path';
