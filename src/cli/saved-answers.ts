import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { UnreadableFile } from '../config/read-files';
import { ConfigError } from '../config/service-config';
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

/** The answers in a file, in the files of a folder in the order of their names, or in standard input for `-`. */
export async function savedAnswers(
  file: string,
  status: number,
  input?: NodeJS.ReadableStream,
): Promise<SavedAnswer[]> {
  // Reading process.stdin opens it, so only `-` does.
  if (file === '-') return savedIn(await textOf(input ?? process.stdin), 'standard input', status);
  const saved = savedAt(file, status);
  if (saved.length === 0) throw new ConfigError(`There are no answers in ${file}.`);
  return saved;
}

function savedAt(path: string, status: number): SavedAnswer[] {
  try {
    if (!statSync(path).isDirectory()) return savedIn(readSaved(path), basename(path), status);
    const names = readdirSync(path).filter((name) => /\.jsonl?$/.test(name));
    return names.sort().flatMap((name) => savedIn(readSaved(join(path, name)), name, status));
  } catch (error) {
    throw new ConfigError(
      `${path} cannot be read (${errorCode(error)}): give a file with an answer, a folder of them, or - for standard input.`,
    );
  }
}

/** Reading a device may never end. A pipe of the shell ends. */
function readSaved(path: string): string {
  const stats = statSync(path);
  if (stats.isCharacterDevice() || stats.isBlockDevice()) throw new UnreadableFile('not a regular file');
  return readFileSync(path, 'utf8');
}

/** One recorded answer, or one per line. Any other text is the body of an answer. */
function savedIn(text: string, name: string, status: number): SavedAnswer[] {
  const one = recorded(text);
  if (one) return [{ name, ...one }];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const all = lines.flatMap((line, index) => {
    const answer = recorded(line);
    return answer ? [{ name: `${name}:${index + 1}`, ...answer }] : [];
  });
  return all.length > 0 && all.length === lines.length ? all : [{ name, status, body: text }];
}

function recorded(text: string) {
  try {
    return recording.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
