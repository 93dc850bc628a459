import { cleanText } from './clean-text';
import { HIDDEN, looksLikeToken, redactLinks, replaceWords } from './redact-links';

/** What must never be repeated. The two kinds are hidden differently. */
export interface Secrets {
  /** Each opens an account. Every piece of a key is hidden, in any encoding: a service may cut or encode what it quotes. */
  keys: readonly string[];
  /** Values of a call's headers and query, tokens in links. Hidden only as a whole: many are words, such as a version. */
  wholeValues: readonly string[];
}

export const NO_SECRETS: Secrets = { keys: [], wholeValues: [] };

/** Only the beginning of a text is repeated, so the rest need not be searched. */
const LONGEST_SEARCHED_CHARS = 10_000;

/**
 * A server's text as it may be repeated in a log, a failure, a history or a terminal: one line, bounded, without secrets.
 * Some services quote the key they refuse, and some storages quote a link's signature. Redacting comes before cutting.
 */
export function redact(text: string, secrets: Secrets, longestChars?: number): string {
  const beginning = cleanText(text, Number.POSITIVE_INFINITY).slice(0, LONGEST_SEARCHED_CHARS);
  return cleanText(secretHider(secrets)(beginning), longestChars);
}

/** Hides secrets, credentials and what gives access to links. Not for workflows: the sandbox has no `Buffer`. */
export function secretHider({ keys, wholeValues }: Secrets): (text: string) => string {
  // A service may cut a signature, but half of a word is only a word.
  const hideSecrets = plainHider({ keys: [...keys, ...wholeValues.filter(looksLikeToken)], wholeValues });
  return (text) => replaceWords(hideAccess(hideSecrets(text)), hideIfEscaped);
}

/** `Bearer x` with any key, and what opens a link; the words "Bearer authentication" are not a key. */
function hideAccess(text: string): string {
  const hidden = text.replace(/\b((?:Bearer|Basic)[\s:=]+)([\w.~+/=-]{8,})/gi, (whole, scheme, value) =>
    /\d/.test(value) || value.length >= 16 ? `${scheme}${HIDDEN}` : whole,
  );
  return redactLinks(hidden);
}

/** A word whose escapes spell a credential or a link is hidden whole. */
function hideIfEscaped(word: string): string {
  const spelled = spellingsOf(word)?.at(-1);
  return spelled === undefined || (spelled !== word && hideAccess(spelled) !== spelled) ? HIDDEN : word;
}

/** A shorter piece of a key is useless to an attacker, and ordinary words would match it. */
const PIECE_CHARS = 8;
const HEX_PIECE_CHARS = 2 * PIECE_CHARS;
/** Eight bytes of a key are at least this many letters and digits of base64, at any offset. */
const BASE64_PIECE_CHARS = 7;
/** A shorter value, such as `1` or `mp4`, is not a secret, and hiding it would damage every sentence. */
const SHORTEST_VALUE_CHARS = 5;

/**
 * Hides secrets by one normal form: the letters and digits of a text, in any case, once its separators and escapes are gone. Each
 * place that has one becomes `…`. A text whose escapes spell a secret is repeated without them.
 */
export function plainHider(secrets: Secrets): (text: string) => string {
  const forms = formsOf(secrets);
  return (text) => {
    const spellings = spellingsOf(text);
    if (spellings === undefined) return HIDDEN;
    const telling = spellings.findLast((spelled) => hidePieces(spelled, forms) !== spelled);
    if (telling === undefined) return text;
    const hidden = hidePieces(telling, forms);
    const shown = hidePieces(text, forms);
    return spellingsOf(shown)?.includes(hidden) ? shown : hidden;
  };
}

/** No id contains this much of a key in one piece by chance. */
const KEY_SHARE = 0.5;

/** True when a text that must stay exact, such as a task id, contains at least half of a key in one piece, in any encoding. */
export function isTainted(text: string, { keys }: Secrets): boolean {
  const long = keys.filter((key) => lettersOf(key).length >= PIECE_CHARS);
  const forms = formsOf({ keys: long, wholeValues: [] }, KEY_SHARE);
  return !spellingsOf(text)?.every((spelled) => hidePieces(spelled, forms) === spelled);
}

/** What is left of a text without separators and case. */
const lettersOf = (text: string) => text.replace(/[^A-Za-z0-9]+/g, '').toLowerCase();

/** One encoding of a secret, and the shortest piece of it that is hidden. */
interface SecretForm {
  letters: string;
  pieceChars: number;
}

/** What of the secrets is hidden: at least this share of each encoding of a key, and other values as a whole. */
function formsOf({ keys, wholeValues }: Secrets, share = 0): SecretForm[] {
  const values = wholeValues.map(lettersOf).filter(({ length }) => length >= SHORTEST_VALUE_CHARS);
  const wholes = values.map((letters) => ({ letters, pieceChars: letters.length }));
  const forms = keys.flatMap((key) => spellingsOf(key) ?? key).flatMap(formsOfKey);
  const pieces = forms.map(({ letters, pieceChars }) => ({
    letters,
    pieceChars: Math.max(pieceChars, Math.ceil(letters.length * share)),
  }));
  return [...pieces, ...wholes];
}

function formsOfKey(key: string): SecretForm[] {
  const letters = lettersOf(key);
  if (letters === '') return [];
  const plain = { letters, pieceChars: Math.min(PIECE_CHARS, letters.length) };
  const bytes = Buffer.from(key, 'utf8');
  if (bytes.length < PIECE_CHARS) return [plain];
  const base64 = [0, 1, 2].map((before) => ({
    letters: lettersOf(base64After(before, bytes)),
    pieceChars: BASE64_PIECE_CHARS,
  }));
  return [plain, { letters: bytes.toString('hex'), pieceChars: HEX_PIECE_CHARS }, ...base64];
}

/** Base64 depends on the offset modulo 3. Characters that share bits with neighbouring bytes are left out. */
function base64After(before: number, bytes: Buffer): string {
  const padded = Buffer.concat([Buffer.alloc(before), bytes]);
  const whole = padded.toString('base64').replace(/=+$/, '');
  return whole.slice(before === 0 ? 0 : before + 1, padded.length % 3 === 0 ? undefined : -1);
}

/** A text with `…` in place of each piece, whatever separates its letters and digits. */
function hidePieces(text: string, forms: readonly SecretForm[]): string {
  const letters = lettersOf(text);
  const found: { first: number; last: number }[] = [];
  for (const { letters: secret, pieceChars } of forms) {
    for (let at = 0; at + pieceChars <= letters.length; at++) {
      if (secret.includes(letters.slice(at, at + pieceChars)))
        found.push({ first: at, last: at + pieceChars - 1 });
    }
  }
  if (found.length === 0) return text;
  const places = [...text.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index);
  let shown = '';
  let end = 0;
  for (const { first, last } of found.sort((a, b) => a.first - b.first)) {
    const start = places[first] ?? 0;
    if (start >= end) shown += text.slice(end, start) + HIDDEN;
    end = Math.max(end, (places[last] ?? 0) + 1);
  }
  return shown + text.slice(end);
}

/** JSON in a URL in HTML, twice: services do not nest deeper. */
const MOST_LAYERS = 6;

/** A text, then without its escapes of JSON, URLs and HTML, then without those that they spell; undefined if they never end. */
function spellingsOf(text: string): string[] | undefined {
  const spellings = [text];
  for (let last = text; /[\\%&]/.test(last); last = spellings.at(-1) ?? '') {
    const next = withoutEscapes(last);
    if (next === last) break;
    if (spellings.push(next) > MOST_LAYERS) return undefined;
  }
  return spellings;
}

const ESCAPE =
  /\\u([0-9a-f]{4})|(?:\\x|%)([0-9a-f]{2})|(?:\\u\{|&#x)([0-9a-f]{1,6})[};]?|&#(\d{1,7});?|&([a-z]{2,8});|\\(.)/gis;
const FIRST_PRINTABLE = 0x20;
const LARGEST_CODE_POINT = 0x10ffff;

function withoutEscapes(text: string): string {
  return text.replace(ESCAPE, (whole, four, two, some, decimal, name, sign) => {
    // Any other name is that of a separator, as a control character is.
    if (name !== undefined) return name.toLowerCase() === 'amp' ? '&' : ' ';
    if (sign !== undefined) return /[nrtbfv]/.test(sign) ? ' ' : sign;
    const code = decimal === undefined ? Number.parseInt(four ?? two ?? some, 16) : Number(decimal);
    if (code > LARGEST_CODE_POINT) return whole;
    return code < FIRST_PRINTABLE ? ' ' : String.fromCodePoint(code);
  });
}
