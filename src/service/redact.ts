import { cleanText } from '../contract/clean-text';
import { hideRanges, looksLikeToken, secretsInLinks, type TextRange } from '../contract/redact-links';
import { decodedLayers } from './decoded-layers';
import { holdsKey, type Secrets, secretFinder } from './find-secrets';
import type { TracedReading } from './read-answer';

/** Of a text only its beginning is told: more than this of it is not looked at. */
const MOST_TOLD = 10_000;

const SECRET_NAMES = /auth|cookie|token|secret|key|signature|credential|password/i;

/**
 * A service's words as they may be repeated in a log, a failure, a history or a terminal: on one line, and not endless. Some
 * services quote the key they refuse, and some storages the signature of a link. What is told passes here, and what is cut
 * is cut afterwards.
 */
export function redact(text: string, secrets: Secrets, longest?: number): string {
  const begun = cleanText(text, Number.POSITIVE_INFINITY).slice(0, MOST_TOLD);
  return cleanText(hideSecrets(begun, secrets), longest);
}

/** The text without the secrets, however they are escaped in it, and without what signs links. */
export function hideSecrets(text: string, secrets: Secrets): string {
  return secretHider(secrets)(text);
}

/** The same for many texts: the secrets are prepared once. */
export function secretHider(secrets: Secrets): (text: string) => string {
  const find = secretFinder(secrets);
  return (text) => {
    const ranges: TextRange[] = [];
    for (const layer of decodedLayers(text)) {
      for (const found of [find(layer.text), credentialsIn(layer.text), secretsInLinks(layer.text)]) {
        for (const range of found) ranges.push(layer.origin(range));
      }
    }
    return hideRanges(text, ranges);
  };
}

/** `Bearer x`, whoever's it is; "Bearer authentication" is none. */
function credentialsIn(text: string): TextRange[] {
  return [...text.matchAll(/\b(?:Bearer|Basic)[\s:=]+([\w.~+/=-]{8,})/gi)].flatMap((match) => {
    const { 0: whole, 1: value = '', index } = match;
    const end = index + whole.length;
    return /\d/.test(value) || value.length >= 16 ? [{ start: end - value.length, end }] : [];
  });
}

export function redactReading<Reading extends TracedReading>(reading: Reading, secrets: Secrets): Reading {
  const { task, said, doubts } = reading;
  return {
    ...reading,
    doubts: doubts.map((doubt) => redact(doubt, secrets)),
    task: { ...task, word: redact(task.word, secrets) },
    said: {
      ...(said.code !== undefined && { code: redact(said.code, secrets) }),
      ...(said.message !== undefined && { message: redact(said.message, secrets) }),
    },
  };
}

/** Whether a text that is kept as it is, such as a task id, holds a key in whatever spelling. */
export function isTainted(text: string, secrets: Secrets): boolean {
  return [...decodedLayers(text)].some((layer) => holdsKey(layer.text, secrets));
}

/** A shorter value of such a header is a number or a word. */
const SHORTEST_KEY = 8;

/** What a call carries: its keys, the headers of a profile, and what signs its address. */
export function secretsOf(
  path: string,
  keys: readonly string[],
  headers: Record<string, string> = {},
): Secrets {
  const [, query = ''] = path.split(/\?(.*)/s);
  const fields = Object.entries(headers);
  const isKey = ([name, value]: [string, string]) => SECRET_NAMES.test(name) && value.length >= SHORTEST_KEY;
  return {
    keys: [...keys, ...fields.filter(isKey).map(([, value]) => value)].filter((key) => key !== ''),
    others: [
      ...query.split(/[&=]/),
      ...new URLSearchParams(query).values(),
      ...fields.filter((field) => !isKey(field)).map(([, value]) => value),
    ].filter((part) => part !== ''),
  };
}

/** The same for a link, whose path may be what lets somebody in. */
export function secretsOfLink(path: string, { keys, others }: Secrets): Secrets {
  const own = secretsOf(path, keys);
  const [address = ''] = path.split('?');
  const tokens = address.split(/[/;=]/).map((segment) => segment.replace(/\.\w{1,5}$/, ''));
  return { keys, others: [...others, ...own.others, ...tokens.filter(looksLikeToken)] };
}
