import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { endOfString } from './places';
import type { ServiceAnswer } from './video-service';

const MOST_FILES = 200;
const LARGEST_FILE = 1_000_000;

/** Longer than anything that is read from one value, so that a text may be cut here and read the same. */
const LONGEST_TEXT = 20_000;

/** What is shorter is a word such as `1` or `true`: it hides nothing, and would be cut out of every answer. */
const SHORTEST_SECRET = 4;
/** Shorter ones, such as `beta`, are hidden where they stand alone. */
const SHORTEST_ANYWHERE = 8;

const HIDDEN = '…';
const SECRET_HEADERS = /auth|cookie|token|secret|key|signature|credential/i;
const OWN_FILES = /^\d{4}-\d\d-\d\dT[\w.-]+\.json(\.tmp)?$/;

export interface KeepAnswersOptions {
  /** Told once, with one sentence, that answers cannot be kept. */
  onTrouble?: (message: string) => void;
  mostFiles?: number;
}

/** An answer as it may be kept and shown to others. */
export type RecordedAnswer = Pick<ServiceAnswer, 'call' | 'status' | 'headers' | 'body'>;

/**
 * Keeps what a service answers, one file each, for whoever wants to see how it speaks: without keys, cookies and what
 * signs links. Trouble with the folder is nobody's but its own: the job goes on.
 */
export function keepAnswers(
  folder: string,
  options: KeepAnswersOptions = {},
): (answer: ServiceAnswer) => void {
  const { onTrouble = (message) => process.emitWarning(message), mostFiles = MOST_FILES } = options;
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
      onTrouble(
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

/** The answer without what must not be kept. Its body reads as before, but for the queries of links. */
export function redactAnswer({ call, status, headers, body, secrets }: ServiceAnswer): RecordedAnswer {
  const hide = (text: string) => hideQueries(hideSecrets(text, secrets));
  const kept = Object.entries(headers)
    .filter(([name]) => !SECRET_HEADERS.test(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(hide) : hide(value ?? '')]);
  return {
    call,
    status,
    headers: Object.fromEntries(kept),
    body: inText(body, hide, secrets.filter(isNumber)),
  };
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
  return secret.length >= SHORTEST_ANYWHERE && /^[\d.eE+-]+$/.test(secret);
}

function hideSecrets(text: string, secrets: readonly string[]): string {
  let told = text;
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    const inQuery = new URLSearchParams([['', secret]]).toString().slice(1);
    for (const form of new Set([secret, inQuery])) {
      told = secret.length >= SHORTEST_ANYWHERE ? told.replaceAll(form, HIDDEN) : hideWord(told, form);
    }
  }
  return told;
}

function hideWord(text: string, word: string): string {
  const exactly = word.replace(/[^A-Za-z0-9]/g, (sign) => `\\${sign}`);
  return text.replace(new RegExp(`(?<![A-Za-z0-9])${exactly}(?![A-Za-z0-9])`, 'g'), HIDDEN);
}

/** The names of a query tell how links are signed; its values are what signs them. */
function hideQueries(text: string): string {
  return /[?#@]/.test(text) ? text.replace(/[^\s"'<>]+/g, hideQuery) : text;
}

// Word by word, because a pattern that looks for the end of a link from each of its beginnings takes minutes over a
// megabyte of beginnings.
function hideQuery(word: string): string {
  const start = word.search(/https?:\/\//i);
  const hash = start === -1 ? -1 : word.indexOf('#', start);
  const hidden = (hash === -1 ? word : `${word.slice(0, hash)}#${HIDDEN}`).replace(
    /\?([^?#]+)/g,
    (query, pairs: string) => {
      if (pairs.includes('=')) return `?${pairs.replace(/=[^&;]+/g, `=${HIDDEN}`)}`;
      return start === -1 ? query : `?${HIDDEN}`;
    },
  );
  return hidden.replace(/(https?:\/\/)[^/?#@]+@/gi, `$1${HIDDEN}@`);
}

/** Without the ends of texts that are too long to be read whole, such as a video in base64. */
function shorten(body: string): string {
  return inText(body, (text) => text.slice(0, LONGEST_TEXT), []);
}
