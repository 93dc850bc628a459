import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../contract/errors';
import type { Secrets } from '../contract/find-secrets';
import { secretHider } from '../contract/redact';
import { endOfString } from './answer-paths';
import type { ServiceAnswer } from './video-service';

const MOST_FILES = 200;
const LARGEST_FILE = 1_000_000;

/** Each text takes a while, and nothing else happens in it. */
const MOST_TEXTS = 50_000;

/** Longer than anything that is read from one value, so that a text may be cut here and read the same. */
const LONGEST_TEXT = 20_000;

/** A number that is shorter may be anything. */
const SHORTEST_NUMBER = 8;

const SECRET_HEADERS = /auth|cookie|token|secret|key|signature|credential/i;
/** The whole name: a file of the user may begin with a date as well. */
const OWN_FILES =
  /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-\d{6,}-(submit|poll|link|cancel)-\d{3}-\d+\.json(\.tmp)?$/;

export interface RecordAnswersOptions {
  /** Told once, with one sentence, that answers cannot be kept. */
  onProblem?: (message: string) => void;
  mostFiles?: number;
}

/** An answer as it may be kept and shown to others. */
export type RecordedAnswer = Pick<ServiceAnswer, 'call' | 'status' | 'headers' | 'body'>;

/**
 * Keeps what a service answers, one file each, for whoever wants to see how it speaks: without keys, cookies and what
 * signs links. Problem with the folder is nobody's but its own: the job goes on.
 */
export function recordAnswers(
  folder: string,
  options: RecordAnswersOptions = {},
): (answer: ServiceAnswer) => void {
  const { onProblem = (message) => process.emitWarning(message), mostFiles = MOST_FILES } = options;
  let count = 0;
  let isTold = false;
  return (answer) => {
    try {
      const time = new Date().toISOString().replaceAll(':', '-');
      // The number and the process, because two answers of one moment are two files, in the order in which they came.
      const number = String(++count).padStart(6, '0');
      const name = `${time}-${number}-${answer.call}-${answer.status}-${process.pid}.json`;
      // Whoever may read the folder may not read the prompts.
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, name);
      writeFileSync(`${file}.tmp`, recordText(answer), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
      const own = readdirSync(folder).filter((entry) => OWN_FILES.test(entry));
      for (const old of own.sort().slice(0, -mostFiles)) rmSync(join(folder, old), { force: true });
    } catch (error) {
      if (isTold) return;
      isTold = true;
      onProblem(
        `Answers of the service cannot be kept in ${folder} (${errorCode(error)}): the jobs go on without.`,
      );
    }
  };
}

function recordText(answer: ServiceAnswer): string {
  const record = redactAnswer(answer);
  const text = JSON.stringify(record, undefined, 2);
  if (Buffer.byteLength(text) <= LARGEST_FILE) return `${text}\n`;
  const shortened = JSON.stringify({ ...record, body: shorten(record.body) });
  if (Buffer.byteLength(shortened) <= LARGEST_FILE) return `${shortened}\n`;
  // No longer JSON, but its beginning can be looked at. A character may take six bytes: \u001b.
  const body = record.body.slice(0, Math.floor(LARGEST_FILE / 8));
  return `${JSON.stringify({ call: record.call, status: record.status, headers: {}, body })}\n`;
}

/** The answer without what must not be kept. Its body reads as before, but for what signs links. */
export function redactAnswer({ call, status, headers, body, secrets }: ServiceAnswer): RecordedAnswer {
  const hide = secretHider(secrets);
  const kept = Object.entries(headers)
    .filter(([name]) => !SECRET_HEADERS.test(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(hide) : hide(value ?? '')]);
  return {
    call,
    status,
    headers: Object.fromEntries(kept),
    body: redactBody(body, secrets),
  };
}

/** A body without what must not be kept; JSON stays JSON. */
export function redactBody(body: string, secrets: Secrets): string {
  const numbers = [...secrets.keys, ...secrets.others].filter(isNumber);
  const hide = secretHider(secrets);
  let texts = 0;
  const redacted = inText(body, (text) => (++texts > MOST_TEXTS ? '' : hide(text)), numbers);
  return texts > MOST_TEXTS ? `not kept: the answer holds more than ${MOST_TEXTS} texts` : redacted;
}

/** JSON stays JSON: each of its strings is changed by itself, and what JSON a string holds stays JSON as well. */
function inText(text: string, change: (text: string) => string, numbers: readonly string[]): string {
  if (!isJson(text)) return change(text);
  let changed = '';
  let from = 0;
  while (from < text.length) {
    const quote = text.indexOf('"', from);
    const open = quote === -1 ? text.length : quote;
    const close = endOfString(text, open);
    changed += withoutNumbers(text.slice(from, open), numbers);
    if (open < text.length) changed += inLiteral(text.slice(open, close + 1), change, numbers);
    from = close + 1;
  }
  return changed;
}

function inLiteral(literal: string, change: (text: string) => string, numbers: readonly string[]): string {
  const text = String(JSON.parse(literal));
  const changed = inText(text, change, numbers);
  return changed === text ? literal : JSON.stringify(changed);
}

/** Strictly, unlike the reader: what stands outside of the strings must be numbers and signs alone. */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text.trim());
    return true;
  } catch {
    return false;
  }
}

/** A secret of digits may stand outside of all strings, where only another number keeps it JSON. */
function withoutNumbers(json: string, numbers: readonly string[]): string {
  return numbers.reduce((text, secret) => text.replaceAll(secret, secret.replace(/\d/g, '9')), json);
}

function isNumber(secret: string): boolean {
  return secret.length >= SHORTEST_NUMBER && /^[\d.eE+-]+$/.test(secret);
}

/** Without the ends of texts that are too long to be read whole, such as a video in base64. */
function shorten(body: string): string {
  return inText(body, (text) => text.slice(0, LONGEST_TEXT), []);
}
