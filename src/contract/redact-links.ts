import { cleanText, printableJson } from './clean-text';

export const HIDDEN = '…';

/** What neither blanks nor quotes interrupt. Not the expression itself: the workflow sandbox freezes what is exported. */
export function replaceWords(text: string, replace: (word: string) => string): string {
  return text.replace(/[^\s"'<>`]+/g, replace);
}

/** Whether a text is a link that opens something: one with a signature or a key in its query. */
export const isSignedLink = (text: string) =>
  /^https?:/i.test(text) &&
  URL.canParse(text) &&
  [...new URL(text).searchParams.keys()].some((name) => /sig|token|key|secret|credential/i.test(name));

/** Links keep their host and their path, up to what may be a signature, and lose names in it that look like tokens. */
export function redactLinks(text: string): string {
  return /[/?]/.test(text) ? replaceWords(text, redactWord) : text;
}

function redactWord(word: string): string {
  const slashes = word.indexOf('//');
  const path = /^[([{]*\//.exec(word)?.[0].length ?? -1;
  if (slashes === -1 && path === -1) return word.replace(/(\?)[^?]*=.*/, `$1${HIDDEN}`);
  const start = slashes === -1 ? path : slashes + '//'.length;
  // A question mark at the end, as in "Really?", starts no query.
  const [, address = '', mark = '', rest = ''] = /^([^?#;=&]*)(.?)(.*)$/s.exec(word.slice(start)) ?? [];
  const [host = '', ...names] = address.split('/');
  const shown = [slashes === -1 ? redactName(host) : redactHost(host), ...names.map(redactName)].join('/');
  return `${word.slice(0, start)}${shown}${mark}${rest && HIDDEN}`;
}

/** Without a user and a password. What is neither a host nor a port may be one with a strange character in it. */
function redactHost(authority: string): string {
  const [, user = '', host = ''] = /^(.*@)?(.*)$/s.exec(authority) ?? [];
  const isHost = /^(\[[\da-f:.%]*\]|[^:[\]]*)(:\d*)?[)\]},.]*$/i.test(host);
  return `${user && `${HIDDEN}@`}${isHost ? host : HIDDEN}`;
}

function redactName(name: string): string {
  const [, stem = '', extension = ''] = /^(.*?)(\.\w{1,5})?$/s.exec(name) ?? [];
  return looksLikeToken(stem) ? `${HIDDEN}${extension}` : name;
}

/** Shorter names, and words with separators, are ordinary file names. */
const TOKEN_RUN_CHARS = 16;
const LONG_RUN_CHARS = 32;
const MIXED_TOKEN_CHARS = 20;

/** True for a generated name: a long run of letters and digits, or mixed cases with digits. */
export function looksLikeToken(name: string): boolean {
  if (name.length < TOKEN_RUN_CHARS || !/^[\w.~%+-]+$/.test(name)) return false;
  const runs = name.split(/[^A-Za-z0-9]+/);
  const hasAll = [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(name));
  return runs.some(isTokenRun) || (hasAll && name.length >= MIXED_TOKEN_CHARS);
}

function isTokenRun(run: string): boolean {
  const isMixed = /[A-Za-z]/.test(run) && /\d/.test(run);
  return run.length >= (isMixed ? TOKEN_RUN_CHARS : LONG_RUN_CHARS);
}

const LONGEST_VALUE_CHARS = 60;
/** Only the beginning is shown, so the rest need not be searched for links. */
const LONGEST_SEARCHED_CHARS = 10_000;
/** A failure has to fit into a Temporal message, whatever it was given. */
const MOST_NAMES = 20;

/** A value that breaks a rule, on one line and without the secrets of links. Never throws, whatever a caller passes. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const redacted = redactLinks(String(value).slice(0, LONGEST_SEARCHED_CHARS));
  // Escaped control characters show what is wrong with a text that looks empty.
  return cleanText(typeof value === 'string' ? printableJson(redacted) : redacted, LONGEST_VALUE_CHARS);
}

/** Names of fields that do not exist, as half a sentence. */
export function describeNames(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).map(describeValue).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}
