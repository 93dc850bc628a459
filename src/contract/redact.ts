import { cleanText } from './clean-text';
import { decodedLayers } from './decoded-layers';
import { holdsKey, type Secrets, secretFinder } from './find-secrets';
import { hideRanges, secretsInLinks, type TextRange } from './redact-links';

/** Of a text only its beginning is told: more than this of it is not looked at. */
const MOST_TOLD = 10_000;

/**
 * The words of a server as they may be repeated in a log, a failure, a history or a terminal: on one line, and not
 * endless. Some services quote the key they refuse, and some storages the signature of a link. What is told passes here,
 * and what is cut is cut afterwards.
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

/** Whether a text that is kept as it is, such as a task id, holds a key in whatever spelling. */
export function isTainted(text: string, secrets: Secrets): boolean {
  return [...decodedLayers(text)].some((layer) => holdsKey(layer.text, secrets));
}
