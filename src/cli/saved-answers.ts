import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { UnreadableFile } from '../config/read-files';
import { ConfigError } from '../config/service-config';
import { jsonIn } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import type { AnswerSample } from '../service';

/** An answer that somebody saved or a worker recorded. */
export interface SavedAnswer extends AnswerSample {
  name: string;
}

/** What a worker records; other fields of a recording are not needed. */
const recording = z.object({
  call: z.enum(['submit', 'poll', 'link', 'cancel']),
  status: z.number(),
  body: z.union([z.string(), z.unknown().transform((body) => JSON.stringify(body) ?? '')]),
});

/** The answers in a file, or in the files of a folder in the order of their names. */
export function savedAnswers(path: string, status: number): SavedAnswer[] {
  const saved = savedAt(path, status);
  if (saved.length === 0) throw new ConfigError(`There are no answers in ${path}.`);
  return saved;
}

function savedAt(path: string, status: number): SavedAnswer[] {
  try {
    if (!statSync(path).isDirectory()) return [savedIn(path, status)];
    const names = readdirSync(path).filter((name) => name.endsWith('.json'));
    return names.sort().map((name) => savedIn(join(path, name), status));
  } catch (error) {
    throw new ConfigError(
      `${path} cannot be read (${errorCode(error)}): give a file with an answer, or a folder of them.`,
    );
  }
}

/** A recorded answer. Any other text is the body of an answer. */
function savedIn(path: string, status: number): SavedAnswer {
  const stats = statSync(path);
  // Reading a device may never end. A pipe of the shell ends.
  if (stats.isCharacterDevice() || stats.isBlockDevice()) throw new UnreadableFile('not a regular file');
  const body = readFileSync(path, 'utf8');
  return { name: basename(path), status, body, ...recording.safeParse(jsonIn(body)).data };
}
