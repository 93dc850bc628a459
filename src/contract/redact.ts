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

/**
 * Hides secrets, credentials and what gives access to links. A word whose escapes spell one of them is hidden whole, and so is a
 * text that spells a secret only across its words. Not for workflows: the sandbox has no `Buffer`.
 */
export function secretHider({ keys, wholeValues }: Secrets): (text: string) => string {
  // A service may cut a signature, but half of a word is only a word.
  const hideSecrets = plainHider({ keys: [...keys, ...wholeValues.filter(looksLikeToken)], wholeValues });
  const hide = (text: string) => hideCredentials(hideSecrets(text));
  return (text) => {
    const shown = redactLinks(hide(hideEscaped(text, hide)));
    return spells(shown, hide) ? HIDDEN : hideEscaped(shown, redactLinks);
  };
}

function hideEscaped(text: string, hide: (text: string) => string): string {
  return /[\\%&]/.test(text) ? replaceWords(text, (word) => (spells(word, hide) ? HIDDEN : word)) : text;
}

/** Whether there is something to hide in a text without its escapes; yes if they never end. */
function spells(text: string, hide: (text: string) => string): boolean {
  const layers = unescaped(text);
  return layers.length === MOST_LAYERS || layers.some((layer) => hide(layer) !== layer);
}

/** `Bearer x` with any key; the words "Bearer authentication" are not one. */
function hideCredentials(text: string): string {
  return text.replace(/\b((?:Bearer|Basic)[\s:=]+)([\w.~+/=-]{8,})/gi, (whole, scheme, value) =>
    /\d/.test(value) || value.length >= 16 ? `${scheme}${HIDDEN}` : whole,
  );
}

/** A shorter piece of a key is useless to an attacker, and ordinary words would match it. */
const PIECE_CHARS = 8;
const HEX_PIECE_CHARS = 2 * PIECE_CHARS;
/** Eight bytes of a key are at least this many letters and digits of base64, at any offset. */
const BASE64_PIECE_CHARS = 7;
/** A shorter value, such as `1` or `mp4`, is not a secret, and hiding it would damage every sentence. */
const SHORTEST_VALUE_CHARS = 5;

/** Hides secrets that have no escapes, by their letters and digits alone: in any case, whatever separates them. */
export function plainHider({ keys, wholeValues }: Secrets): (text: string) => string {
  const values = wholeValues.map(lettersOf).filter(({ length }) => length >= SHORTEST_VALUE_CHARS);
  const wholes = values.map((letters) => ({ letters, pieceChars: letters.length }));
  const pieces = piecesOf([...keys.flatMap(formsOf), ...wholes]);
  return (text) => {
    const runs = runsIn(lettersOf(text), pieces);
    return runs.length === 0 ? text : hideRuns(text, runs);
  };
}

/** No id contains this much of a key in one piece by chance. */
const KEY_SHARE = 0.5;

/** True when a text that must stay exact, such as a task id, contains at least half of a key in one piece, in any encoding. */
export function isTainted(text: string, { keys }: Secrets): boolean {
  const forms = keys.filter((key) => lettersOf(key).length >= PIECE_CHARS).flatMap(formsOf);
  const pieces = piecesOf(
    forms.map(({ letters, pieceChars }) => ({
      letters,
      pieceChars: Math.max(pieceChars, Math.ceil(letters.length * KEY_SHARE)),
    })),
  );
  return [text, ...unescaped(text)].some((layer) => runsIn(lettersOf(layer), pieces).length > 0);
}

/** What is left of a text without separators and case. */
const lettersOf = (text: string) => text.replace(/[^A-Za-z0-9]+/g, '').toLowerCase();

/** One encoding of a secret, and the shortest piece of it that counts. */
interface KeyForm {
  letters: string;
  pieceChars: number;
}

function formsOf(key: string): KeyForm[] {
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

/** By their length. */
type Pieces = Map<number, Set<string>>;

function piecesOf(forms: readonly KeyForm[]): Pieces {
  const pieces: Pieces = new Map();
  for (const { letters, pieceChars: length } of forms) {
    const all = pieces.get(length) ?? new Set();
    pieces.set(length, all);
    for (let at = 0; at + length <= letters.length; at++) all.add(letters.slice(at, at + length));
  }
  return pieces;
}

/** Letters in a row that all belong to pieces; `end` is exclusive. */
interface Run {
  start: number;
  end: number;
}

function runsIn(letters: string, pieces: Pieces): Run[] {
  const runs: Run[] = [];
  for (const [length, all] of pieces) {
    for (let start = 0; start + length <= letters.length; start++) {
      if (!all.has(letters.slice(start, start + length))) continue;
      const last = runs.at(-1);
      if (last && start > last.start && start < last.end) last.end = start + length;
      else runs.push({ start, end: start + length });
    }
  }
  return runs.sort((a, b) => a.start - b.start);
}

/** Each run of letters becomes one `…`, with what separates them. */
function hideRuns(text: string, runs: readonly Run[]): string {
  const places: number[] = [];
  for (let at = 0; at < text.length; at++) if (/[A-Za-z0-9]/.test(text.charAt(at))) places.push(at);
  let shown = '';
  let from = 0;
  for (const { start, end } of runs) {
    const [first = 0, last = 0] = [places[start], places[end - 1]];
    if (first >= from && !(first === from && shown.endsWith(HIDDEN)))
      shown += text.slice(from, first) + HIDDEN;
    from = Math.max(from, last + 1);
  }
  return shown + text.slice(from);
}

/** JSON in a URL in HTML, twice: services do not nest deeper. */
const MOST_LAYERS = 6;

const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\(.)|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&([a-z]{2,8});/gis;

/** A text without its escapes of JSON, URLs and HTML, then without those that they spell, until none are left. */
export function unescaped(text: string): string[] {
  const layers: string[] = [];
  for (let last = text; layers.length < MOST_LAYERS && /[\\%&]/.test(last); ) {
    const next = last.replace(ESCAPE, decodeEscape);
    if (next === last) break;
    layers.push(next);
    last = next;
  }
  return layers;
}

const LARGEST_CODE_POINT = 0x10ffff;

function decodeEscape(given: string, ...groups: (string | undefined)[]): string {
  const [braces, json, hex, sign, url, htmlHex, html, name] = groups;
  // Any other name is that of a separator.
  if (name !== undefined) return name.toLowerCase() === 'amp' ? '&' : ' ';
  if (sign !== undefined) return /[nrtbfv]/.test(sign) ? ' ' : sign;
  const hexadecimal = braces ?? json ?? hex ?? url ?? htmlHex;
  const code = hexadecimal === undefined ? Number(html) : Number.parseInt(hexadecimal, 16);
  return code <= LARGEST_CODE_POINT ? String.fromCodePoint(code) : given;
}
