import { readFileSync, statSync } from 'node:fs';
import type { z } from 'zod';
import { errorCode } from '../contract/error-code';
import { type Environment, problemWith, type Setting, withoutBlanks } from './read-setting';

/** A key has some hundred bytes, a profile some thousand. The YAML parser takes seconds for a long file of mistakes. */
const LARGEST_FILE_BYTES = 20_000;

/** Reading a pipe or a device may never end, and the second read of a pipe finds nothing. */
export function readTextFile(file: string): string {
  const stats = statSync(file);
  if (stats.isDirectory()) throw new UnreadableFile('EISDIR');
  if (!stats.isFile()) throw new UnreadableFile('not a regular file');
  if (stats.size > LARGEST_FILE_BYTES) throw new UnreadableFile('larger than 20 kB');
  return readFileSync(file, 'utf8');
}

/** Its code is the problem, as for errors of the system. */
export class UnreadableFile extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

/**
 * Reads a secret from a file, at once and then at every call, so that it can be rotated. The path is not shown: it may be the
 * secret itself, put into the wrong variable.
 */
export function secretFile(
  name: string,
  setting: Pick<Setting, 'fix'>,
  { file, type }: { file: string; type: z.ZodType<string> },
): () => string {
  const wrong = (problem: string) => problemWith(name, setting, problem);
  const read = () => {
    let content: string;
    try {
      content = readTextFile(file);
    } catch (error) {
      throw wrong(`names a file that cannot be read (${errorCode(error) ?? 'no code'})`);
    }
    const result = type.safeParse(content);
    if (!result.success) throw wrong(result.error.issues[0]?.message ?? 'is wrong');
    if (result.data === '') throw wrong('is empty');
    return result.data;
  };
  read();
  return read;
}

/** The secret of a setting or of the file in `NAME_FILE`; undefined when neither is set. Both are a mistake. */
export function secretIfSet(
  name: string,
  { setting, type }: { setting: Pick<Setting, 'fix'>; type: z.ZodType<string> },
  env: Environment = process.env,
): (() => string) | undefined {
  const { [name]: value, [`${name}_FILE`]: file } = withoutBlanks(env);
  if (value !== undefined && file !== undefined) {
    throw problemWith(name, { fix: 'unset one of them' }, `and ${name}_FILE are both set`);
  }
  if (file !== undefined) return secretFile(`${name}_FILE`, setting, { file: file.trim(), type });
  if (value === undefined) return undefined;
  const result = type.safeParse(value);
  if (!result.success) throw problemWith(name, setting, result.error.issues[0]?.message ?? 'is wrong');
  return () => result.data;
}
