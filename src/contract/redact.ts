import { cleanText } from './clean-text';
import { decodedLayers } from './decoded-layers';
import { containsKey, type Secrets, secretFinder } from './find-secrets';
import { hideRanges, secretsInLinks, type TextRange } from './redact-links';

/** Only the beginning of a text is repeated, so the rest need not be searched. */
const LONGEST_SEARCHED_CHARS = 10_000;

/**
 * A server's text as it may be repeated in a log, a failure, a history or a terminal: one line, bounded, without secrets.
 * Some services quote the key they refuse, and some storages quote a link's signature. Redacting comes before cutting.
 */
export function redact(text: string, secrets: Secrets, longestChars?: number): string {
  const beginning = cleanText(text, Number.POSITIVE_INFINITY).slice(0, LONGEST_SEARCHED_CHARS);
  return cleanText(hideSecrets(beginning, secrets), longestChars);
}

/** Hides the secrets, however they are escaped, and the signatures of links. */
export function hideSecrets(text: string, secrets: Secrets): string {
  return secretHider(secrets)(text);
}

/** The same for many texts, with the secrets prepared once. */
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

/** `Bearer x` with any key; the words "Bearer authentication" are not one. */
function credentialsIn(text: string): TextRange[] {
  return [...text.matchAll(/\b(?:Bearer|Basic)[\s:=]+([\w.~+/=-]{8,})/gi)].flatMap((match) => {
    const { 0: whole, 1: value = '', index } = match;
    const end = index + whole.length;
    return /\d/.test(value) || value.length >= 16 ? [{ start: end - value.length, end }] : [];
  });
}

/** True when a text that must stay exact, such as a task id, contains a key in any encoding. */
export function isTainted(text: string, secrets: Secrets): boolean {
  return [...decodedLayers(text)].some((layer) => containsKey(layer.text, secrets));
}
