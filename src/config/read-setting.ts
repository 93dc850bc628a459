import type { z } from 'zod';
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

/** `VIDEOGEN_STORAGE starts with gs://, which is not supported: give a folder, …` */
export function problemWith(
  name: string,
  { fix = 'correct or unset it' }: Pick<Setting, 'fix'>,
  problem = 'is wrong',
): ConfigError {
  return new ConfigError(`${name} ${cleanText(problem, LONGEST_PROBLEM_CHARS)}: ${fix}.`);
}

export const isBlank = (value: string | undefined) => value?.trim() === '';

export function withoutBlanks(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      // Blank, such a variable removes the header that the profile file sets.
      return value !== undefined && (!isBlank(value) || name.startsWith('TEMPORAL_GRPC_META_'));
    }),
  );
}
