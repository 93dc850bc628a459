import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonIn } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { type Secrets, secretHider } from '../contract/redact';
import { SECRET_HEADERS } from './secrets-of-call';
import type { ServiceAnswer } from './video-service';

/** The oldest recordings beyond this number are removed. */
const MAX_FILES = 200;
/** In a file, a control character takes six. */
const MAX_BODY_CHARS = 150_000;

/** Longer than any value that is read from an answer, so a cut text is read the same. */
const MAX_TEXT_LENGTH = 20_000;

/** The whole name, because a file of the user may begin with a date too. */
const OWN_FILES =
  /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-\d{6,}-(submit|poll|link|cancel)-\d{3}-\d+\.json(\.tmp)?$/;

/**
 * Records the answers of a service, one file each. `onAnswer` gets them without keys, cookies and signatures of links.
 * `videogen explain` reads them. A problem with the folder is reported once and never fails a job.
 */
export function recordAnswers(
  folder: string,
  onProblem: (message: string) => void = (message) => process.emitWarning(message),
): (answer: ServiceAnswer) => void {
  let count = 0;
  let isReported = false;
  return (answer) => {
    try {
      const time = new Date().toISOString().replaceAll(':', '-');
      // With a number and the process id, answers of the same millisecond get different files, in their order.
      const number = String(++count).padStart(6, '0');
      const file = join(folder, `${time}-${number}-${answer.call}-${answer.status}-${process.pid}.json`);
      const body = answer.body.slice(0, MAX_BODY_CHARS);
      // Only for this user: answers may contain prompts.
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.tmp`, `${JSON.stringify({ ...answer, body }, undefined, 2)}\n`, { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
      const own = readdirSync(folder).filter((entry) => OWN_FILES.test(entry));
      for (const old of own.sort().slice(0, -MAX_FILES)) rmSync(join(folder, old), { force: true });
    } catch (error) {
      if (isReported) return;
      isReported = true;
      onProblem(
        `The service's answers cannot be recorded in ${folder} (${errorCode(error)}). Jobs continue without recordings.`,
      );
    }
  };
}

/** The answer without secrets. Its body is read the same, except for the signatures of links. */
export function redactAnswer(answer: ServiceAnswer, secrets: Secrets): ServiceAnswer {
  const hide = secretHider(secrets);
  const headers = Object.entries(answer.headers)
    .filter(([name]) => !SECRET_HEADERS.test(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(hide) : hide(value ?? '')]);
  const { sent, body } = answer;
  return {
    ...answer,
    sent: sent && { ...sent, path: hide(sent.path), body: sent.body && redactBody(sent.body, secrets) },
    headers: Object.fromEntries(headers),
    body: redactBody(body, secrets),
  };
}

/** A string of JSON, or a number that is long enough for a key. */
const LITERAL = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]{7,}/gs;

/** A body without secrets. JSON stays JSON: each of its strings is changed by itself, and long texts are cut. */
export function redactBody(body: string, secrets: Secrets): string {
  const hide = secretHider(secrets);
  if (typeof jsonIn(body.trim()) !== 'object') return hide(body.slice(0, MAX_BODY_CHARS));
  return body.replace(LITERAL, (literal) => {
    // Only another number keeps the text JSON.
    if (!literal.startsWith('"')) return hide(literal) === literal ? literal : literal.replace(/\d/g, '9');
    const text = String(JSON.parse(literal));
    const hidden = hide(text.slice(0, MAX_TEXT_LENGTH));
    return hidden === text ? literal : JSON.stringify(hidden);
  });
}
