import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { type Secrets, secretHider } from '../contract/redact';
import { endOfString } from './answer-paths';
import { SECRET_HEADERS } from './secrets-of-call';
import type { SentRequest, ServiceAnswer } from './video-service';

const MAX_FILES = 200;
const MAX_FILE_BYTES = 1_000_000;

/** Redacting a text blocks the process for a moment. */
const MAX_TEXTS = 50_000;

/** Longer than any value that is read from an answer, so a cut text is read the same. */
const MAX_TEXT_LENGTH = 20_000;

/** A shorter number may be any other value. */
const MIN_SECRET_DIGITS = 8;

/** The whole name, because a file of the user may begin with a date too. */
const OWN_FILES =
  /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-\d{6,}-(submit|poll|link|cancel)-\d{3}-\d+\.json(\.tmp)?$/;

export interface RecordAnswersOptions {
  /** Called once, when answers cannot be recorded. */
  onProblem?: (message: string) => void;
  /** The oldest recordings beyond this number are removed. */
  maxFiles?: number;
}

/**
 * Records the answers of a service, one file each. `onAnswer` gets them without keys, cookies and signatures of links.
 * `videogen explain` reads them. A problem with the folder is reported once and never fails a job.
 */
export function recordAnswers(
  folder: string,
  options: RecordAnswersOptions = {},
): (answer: ServiceAnswer) => void {
  const { onProblem = (message) => process.emitWarning(message), maxFiles = MAX_FILES } = options;
  let count = 0;
  let isReported = false;
  return (answer) => {
    try {
      const time = new Date().toISOString().replaceAll(':', '-');
      // With a number and the process id, answers of the same millisecond get different files, in their order.
      const number = String(++count).padStart(6, '0');
      const name = `${time}-${number}-${answer.call}-${answer.status}-${process.pid}.json`;
      // Only for this user: answers may contain prompts.
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, name);
      writeFileSync(`${file}.tmp`, recordingOf(answer), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
      const own = readdirSync(folder).filter((entry) => OWN_FILES.test(entry));
      for (const old of own.sort().slice(0, -maxFiles)) rmSync(join(folder, old), { force: true });
    } catch (error) {
      if (isReported) return;
      isReported = true;
      onProblem(
        `The service's answers cannot be recorded in ${folder} (${errorCode(error)}). Jobs continue without recordings.`,
      );
    }
  };
}

function recordingOf(recorded: ServiceAnswer): string {
  const text = JSON.stringify(recorded, undefined, 2);
  if (Buffer.byteLength(text) <= MAX_FILE_BYTES) return `${text}\n`;
  const { sent: _, ...answer } = recorded;
  const shortened = JSON.stringify({ ...answer, body: shorten(recorded.body) });
  if (Buffer.byteLength(shortened) <= MAX_FILE_BYTES) return `${shortened}\n`;
  // The body is no longer JSON, but its beginning can be read. A character may take six bytes: \u001b.
  const body = recorded.body.slice(0, Math.floor(MAX_FILE_BYTES / 8));
  return `${JSON.stringify({ call: recorded.call, status: recorded.status, headers: {}, body })}\n`;
}

/** The answer without secrets. Its body is read the same, except for the signatures of links. */
export function redactAnswer(
  { call, sent, status, headers, body }: ServiceAnswer,
  secrets: Secrets,
): ServiceAnswer {
  const hide = secretHider(secrets);
  const safe = Object.entries(headers)
    .filter(([name]) => !SECRET_HEADERS.test(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(hide) : hide(value ?? '')]);
  return {
    call,
    ...(sent && { sent: redactSent(sent, hide, secrets) }),
    status,
    headers: Object.fromEntries(safe),
    body: redactBody(body, secrets),
  };
}

/** Links in it, such as that to an uploaded image, lose their signatures. */
function redactSent({ method, path, body }: SentRequest, hide: (text: string) => string, secrets: Secrets) {
  return { method, path: hide(path), ...(body !== undefined && { body: redactBody(body, secrets) }) };
}

/** A body without secrets; JSON stays JSON. */
export function redactBody(body: string, secrets: Secrets): string {
  const numbers = [...secrets.keys, ...secrets.wholeValues].filter(isNumber);
  const hide = secretHider(secrets);
  let texts = 0;
  const redacted = changeText(body, (text) => (++texts > MAX_TEXTS ? '' : hide(text)), numbers);
  return texts > MAX_TEXTS ? `not recorded: the answer has more than ${MAX_TEXTS} texts` : redacted;
}

/** Changes each string of a JSON text by itself, so that it stays JSON, and so does JSON inside a string. */
function changeText(text: string, change: (text: string) => string, numbers: readonly string[]): string {
  if (!isJson(text)) return change(text);
  let changed = '';
  let from = 0;
  while (from < text.length) {
    const quote = text.indexOf('"', from);
    const open = quote === -1 ? text.length : quote;
    const close = endOfString(text, open);
    changed += hideNumbers(text.slice(from, open), numbers);
    if (open < text.length) changed += changeLiteral(text.slice(open, close + 1), change, numbers);
    from = close + 1;
  }
  return changed;
}

function changeLiteral(
  literal: string,
  change: (text: string) => string,
  numbers: readonly string[],
): string {
  const text = String(JSON.parse(literal));
  const changed = changeText(text, change, numbers);
  return changed === text ? literal : JSON.stringify(changed);
}

/** Strict, unlike the reader: outside its strings there must be only numbers and punctuation. */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text.trim());
    return true;
  } catch {
    return false;
  }
}

/** A secret of digits may be a JSON number, and only another number keeps the text JSON. */
function hideNumbers(json: string, numbers: readonly string[]): string {
  return numbers.reduce((text, secret) => text.replaceAll(secret, secret.replace(/\d/g, '9')), json);
}

function isNumber(secret: string): boolean {
  return secret.length >= MIN_SECRET_DIGITS && /^[\d.eE+-]+$/.test(secret);
}

/** Cuts long texts, such as a video in base64. */
function shorten(body: string): string {
  return changeText(body, (text) => text.slice(0, MAX_TEXT_LENGTH), []);
}
