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
  const decoded = layersOf(word)?.at(-1)?.text;
  return decoded === undefined || (decoded !== word && hideAccess(decoded) !== decoded) ? HIDDEN : word;
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
 * place that has one becomes `…`.
 */
export function plainHider({ keys, wholeValues }: Secrets): (text: string) => string {
  const values = wholeValues.map(lettersOf).filter(({ length }) => length >= SHORTEST_VALUE_CHARS);
  const wholes = values.map((letters) => ({ letters, pieceChars: letters.length }));
  const pieces = piecesOf([...keys.flatMap(formsOf), ...wholes]);
  return (text) => {
    const layers = layersOf(text);
    if (layers === undefined) return HIDDEN;
    const runs = layers.flatMap((layer) => runsIn(layer, pieces)).sort((a, b) => a.start - b.start);
    let shown = '';
    let shownTo = -1;
    for (const { start, end } of runs) {
      if (start > shownTo) shown += text.slice(Math.max(shownTo, 0), start) + HIDDEN;
      shownTo = Math.max(shownTo, end);
    }
    return shown + text.slice(Math.max(shownTo, 0));
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
  return layersOf(text)?.every((layer) => runsIn(layer, pieces).length === 0) !== true;
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

/** A place in the original text; `end` is exclusive. */
interface Run {
  start: number;
  end: number;
}

/** The places of a text whose letters are pieces. */
function runsIn({ text, starts }: Layer, pieces: Pieces): Run[] {
  const letters = lettersOf(text);
  const runs: Run[] = [];
  let places: number[] | undefined;
  for (const [length, all] of pieces) {
    for (let at = 0; at + length <= letters.length; at++) {
      if (!all.has(letters.slice(at, at + length))) continue;
      places ??= [...text.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index);
      const [first = 0, last = 0] = [places[at], places[at + length - 1]];
      runs.push({ start: starts?.[first] ?? first, end: starts?.[last + 1] ?? last + 1 });
    }
  }
  return runs;
}

/** JSON in a URL in HTML, twice: services do not nest deeper. */
const MOST_LAYERS = 6;

const ESCAPE =
  /\\u([0-9a-f]{4})|(?:\\x|%)([0-9a-f]{2})|(?:\\u\{|&#x)([0-9a-f]{1,6})[};]?|&#(\d{1,7});?|&([a-z]{2,8});|\\(.)/gis;

/** A text without some layers of escapes, and where in the original each of its characters begins. */
interface Layer {
  text: string;
  /** The text itself needs none. */
  starts?: number[];
}

/** A text, then without its escapes of JSON, URLs and HTML, then without those that they spell; undefined if they never end. */
function layersOf(text: string): Layer[] | undefined {
  const layers: Layer[] = [{ text }];
  for (let last = layers[0]; last && /[\\%&]/.test(last.text); last = layers.at(-1)) {
    const next = withoutEscapes(last);
    if (next.text === last.text) break;
    if (layers.push(next) > MOST_LAYERS) return undefined;
  }
  return layers;
}

function withoutEscapes({ text, starts }: Layer): Layer {
  const next: Required<Layer> = { text: '', starts: [] };
  let from = 0;
  const copyTo = (end: number) => {
    next.text += text.slice(from, end);
    for (; from < end; from++) next.starts.push(starts?.[from] ?? from);
  };
  for (const match of text.matchAll(ESCAPE)) {
    copyTo(match.index);
    const decoded = decodeEscape(match);
    if (decoded === undefined) continue;
    next.text += decoded;
    for (const _ of decoded.split('')) next.starts.push(starts?.[match.index] ?? match.index);
    from = match.index + match[0].length;
  }
  copyTo(text.length);
  next.starts.push(starts?.[text.length] ?? text.length);
  return next;
}

const LARGEST_CODE_POINT = 0x10ffff;

function decodeEscape([, four, two, some, decimal, name, sign]: (string | undefined)[]): string | undefined {
  // Any other name is that of a separator.
  if (name !== undefined) return name.toLowerCase() === 'amp' ? '&' : ' ';
  if (sign !== undefined) return /[nrtbfv]/.test(sign) ? ' ' : sign;
  const code = decimal === undefined ? Number.parseInt(four ?? two ?? some ?? '', 16) : Number(decimal);
  return code <= LARGEST_CODE_POINT ? String.fromCodePoint(code) : undefined;
}
