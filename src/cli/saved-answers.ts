import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { UnreadableFile } from '../config/read-files';
import { ConfigError } from '../config/service-config';
import { errorCode } from '../contract/error-code';
import type { Secrets } from '../contract/redact';
import { type AnswerSample, redactBody, type SentRequest, type ServiceAnswer } from '../service';

/** An answer that somebody saved or a worker recorded. */
export interface SavedAnswer extends AnswerSample {
  name: string;
  /** What it answers, in a recording of a submit. */
  sent?: SentRequest;
}

/** A request that the documentation of a service shows, for example. */
export interface SavedRequest {
  name: string;
  body: unknown;
}

const CALLS: readonly ServiceAnswer['call'][] = ['submit', 'poll', 'link', 'cancel'];
const LARGEST_REQUEST_BYTES = 1_000_000;

export function readSavedStatus(given: string): number {
  if (/^[1-5]\d\d$/.test(given)) return Number(given);
  throw new ConfigError(
    `--status is ${JSON.stringify(given)}: give the HTTP status of the answer, such as 200.`,
  );
}

/** The answers that `explain` was given: none without a file. */
export async function savedAnswers(
  file: string | undefined,
  status: number,
  input?: NodeJS.ReadableStream,
): Promise<SavedAnswer[]> {
  if (file === undefined) return [];
  const saved =
    // Reading process.stdin opens it, so only `-` does.
    file === '-'
      ? savedIn(await textOf(input ?? process.stdin), 'standard input', status)
      : savedAt(file, status);
  if (saved.length === 0) throw new ConfigError(`There are no answers in ${file}.`);
  return saved;
}

/** The body of a request, without secrets. */
export function savedRequest(file: string, secrets: Secrets): SavedRequest {
  const fix = 'give a file with the JSON body of a request, as the service documents it';
  let text: string;
  try {
    if (statSync(file).size > LARGEST_REQUEST_BYTES) throw new ConfigError(`${file} is too large: ${fix}.`);
    text = readSaved(file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${file} cannot be read (${errorCode(error)}): ${fix}.`);
  }
  try {
    return { name: basename(file), body: JSON.parse(redactBody(text, secrets)) };
  } catch {
    throw new ConfigError(`${file} is not JSON: ${fix}.`);
  }
}

/** The answers in a file, or in the files of a folder in the order of their names. */
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
  const one = recorded(text, name);
  if (one) return [one];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const each = lines.map((line, index) => recorded(line, `${name}:${index + 1}`));
  const all = each.filter((answer) => answer !== undefined);
  return all.length > 0 && all.length === lines.length ? all : [{ name, status, body: text }];
}

function recorded(given: string, name: string): SavedAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { call, status, body, sent }: Record<'call' | 'status' | 'body' | 'sent', unknown> = {
    call: undefined,
    status: undefined,
    body: undefined,
    sent: undefined,
    ...value,
  };
  const knownCall = CALLS.find((candidate) => candidate === call);
  if (knownCall === undefined || typeof status !== 'number' || body === undefined) return undefined;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { name, call: knownCall, status, body: text, ...(isSent(sent) && { sent }) };
}

function isSent(sent: unknown): sent is SentRequest {
  const { method, path, body }: Record<string, unknown> = Object(sent);
  return (
    typeof method === 'string' && typeof path === 'string' && (body === undefined || typeof body === 'string')
  );
}
