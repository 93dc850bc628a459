/** A part of a text; `end` is exclusive. */
export interface TextRange {
  start: number;
  end: number;
}

export const HIDDEN = '…';

/** Replaces each range by one `…`. The ranges may overlap and come in any order. */
export function hideRanges(text: string, ranges: readonly TextRange[]): string {
  let result = '';
  let from = 0;
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    if (end <= from || end <= start) continue;
    if (start >= from && !(start === from && result.endsWith(HIDDEN))) {
      result += text.slice(from, start) + HIDDEN;
    }
    from = end;
  }
  return result + text.slice(from);
}

/** Hides signatures, tokens and passwords in the links of a text. */
export function redactLinks(text: string): string {
  return hideRanges(text, secretsInLinks(text));
}

/**
 * Finds the secrets in links: query, fragment, user and password, path parameters, and path segments that look like tokens.
 * It works word by word, so that its time grows linearly with the text.
 */
export function secretsInLinks(text: string): TextRange[] {
  if (!/[/?]/.test(text)) return [];
  const ranges: TextRange[] = [];
  for (const { 0: word, index } of text.matchAll(WORD)) {
    for (const { start, end } of secretsInWord(word)) ranges.push({ start: index + start, end: index + end });
  }
  return ranges;
}

const WORD = /[^\s"'<>`]+/g;

function secretsInWord(word: string): TextRange[] {
  const isAbsolute = word.includes('//');
  const isPath = isAbsolute || /^[([{]*\//.test(word);
  const cut = word.search(isPath ? /[?#]|&[^/&]*=/ : /\?[^?]*=/);
  const path = cut === -1 ? word : word.slice(0, cut);
  // A question mark at the end, as in "Really?", starts no query.
  const query = cut === -1 || cut + 1 === word.length ? [] : [{ start: cut + 1, end: word.length }];
  return isPath ? [...query, ...passwordsIn(path), ...tokensIn(path, isAbsolute)] : query;
}

/** `//me:secret@host`, up to the last `@` before the path; or a text after the colon that is not a port. */
function passwordsIn(path: string): TextRange[] {
  return [...path.matchAll(/\/\/([^/]+)/g)].flatMap(({ 1: authority = '', index }) => {
    const start = index + 2;
    const at = authority.lastIndexOf('@');
    if (at !== -1) return [{ start, end: start + at }];
    const colon = authority.search(/:\d*[A-Za-z]/);
    const isAddress = authority.startsWith('[');
    return colon === -1 || isAddress ? [] : [{ start: start + colon + 1, end: start + authority.length }];
  });
}

function tokensIn(path: string, isAbsolute: boolean): TextRange[] {
  const ranges: TextRange[] = [];
  const authority = isAbsolute ? path.indexOf('//') + 2 : 0;
  const first = path.indexOf('/', authority);
  let start = first === -1 ? path.length : first + 1;
  while (start < path.length) {
    const slash = path.indexOf('/', start);
    const end = slash === -1 ? path.length : slash;
    const segment = path.slice(start, end);
    // `v.mp4;sig=abc` and `hmac=abc`.
    const value = segment.search(/[;=]/);
    if (value !== -1) ranges.push({ start: start + value + 1, end });
    const name = (value === -1 ? segment : segment.slice(0, value)).replace(/\.\w{1,5}$/, '');
    if (looksLikeToken(name)) ranges.push({ start, end: start + name.length });
    start = end + 1;
  }
  return ranges;
}

/** Shorter names, and words with separators, are ordinary file names. */
const TOKEN_RUN_CHARS = 16;
const LONG_RUN_CHARS = 32;
const MIXED_TOKEN_CHARS = 20;

/** True for a generated name: a long run of letters and digits, or mixed cases with digits. */
export function looksLikeToken(name: string): boolean {
  if (name.length < TOKEN_RUN_CHARS || !/^[\w.~%+-]+$/.test(name)) return false;
  const runs = name.split(/[^A-Za-z0-9]+/);
  const hasRun = runs.some(
    (run) => run.length >= LONG_RUN_CHARS || (run.length >= TOKEN_RUN_CHARS && isMixed(run)),
  );
  const hasAll = [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(name));
  return hasRun || (hasAll && name.length >= MIXED_TOKEN_CHARS);
}

function isMixed(run: string): boolean {
  return /[A-Za-z]/.test(run) && /\d/.test(run);
}
