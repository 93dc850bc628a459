import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from '../contract/error-code';
import { problemWith, type Setting } from './read-setting';

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

type SecretSetting<Value> = Pick<Setting<Value>, 'fix' | 'type'>;

/**
 * Reads a secret from a file, at once and then at every call, so that it can be rotated. The path is not shown: it may be the
 * secret itself, put into the wrong variable.
 */
export function secretFile<Value>(
  name: string,
  setting: SecretSetting<Value>,
  file: string,
): () => NonNullable<Value> {
  const read = () => {
    let content: string;
    try {
      content = readTextFile(file);
    } catch (error) {
      const problem = `names a file that cannot be read (${errorCode(error) ?? 'no code'})`;
      throw problemWith(name, setting, problem);
    }
    return parseSecret(name, setting, content);
  };
  read();
  return read;
}

export function parseSecret<Value>(
  name: string,
  setting: SecretSetting<Value>,
  value: string,
): NonNullable<Value> {
  const { data, error } = setting.type.safeParse(value);
  if (data) return data;
  throw problemWith(name, setting, error?.issues[0]?.message ?? 'is empty');
}

type ReadYaml = { ok: true; value: unknown } | { ok: false; problem: string };

/** The value of a YAML or JSON file, or what is wrong with it, as a phrase that follows the name of its setting. */
export function readYamlFile(file: string, { folder = '.', not = 'which is not' } = {}): ReadYaml {
  let content: string;
  try {
    content = readTextFile(resolve(folder, file));
  } catch (error) {
    const code = errorCode(error) ?? 'no code';
    return { ok: false, problem: `is ${JSON.stringify(file)}, ${not} a file that can be read (${code})` };
  }
  const notYaml = (why: string): ReadYaml => ({
    ok: false,
    problem: `names a file that is not YAML (${why})`,
  });
  // Loaded only here, because few have a profile in a file and it loads slowly. JSON is YAML too.
  const yaml: typeof import('yaml') = require('yaml');
  const lineCounter = new yaml.LineCounter();
  try {
    // Pretty errors and warnings quote lines of the file, which may have a key in it, and many of them take seconds.
    const document = yaml.parseDocument(content, { prettyErrors: false, logLevel: 'error', lineCounter });
    const [error] = document.errors;
    if (!error) return { ok: true, value: document.toJS() };
    const { line, col } = lineCounter.linePos(error.pos[0]);
    return notYaml(`${error.message} at line ${line}, column ${col}`);
  } catch (error) {
    return notYaml(error instanceof Error ? error.message : String(error));
  }
}
