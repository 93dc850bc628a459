import { cleanText } from './clean-text';
import { decodedLayers } from './decoded-layers';
import { hideRanges, secretsInLinks, type TextRange } from './redact-links';

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

/** A shorter piece of a key is useless to an attacker, and ordinary words would match it. */
const PIECE_CHARS = 8;
/** Eight bytes of a key are at least this many characters of base64, at any offset. */
const BASE64_PIECE_CHARS = 10;
const HEX_PIECE_CHARS = 2 * PIECE_CHARS;

/** A shorter value, such as `1` or `mp4`, is not a secret, and hiding it would damage every sentence. */
const SHORTEST_SECRET_CHARS = 4;
/** A shorter value, such as `beta`, is hidden only as a word of its own. */
const SHORTEST_ANYWHERE_CHARS = 8;

/** Finds secrets in decoded text, ignoring case. Not for workflows: the sandbox has no `Buffer`. */
export function secretFinder({ keys, wholeValues }: Secrets): (text: string) => TextRange[] {
  const { pieces } = preparedKeys(keys);
  const words = wholeValues.map(fold).filter((word) => word.length >= SHORTEST_SECRET_CHARS);
  return (text) => {
    const folded = fold(text);
    return [...findPieces(folded, pieces), ...words.flatMap((word) => findWord(folded, word))];
  };
}

/** No id contains this much of a key in one piece by chance. */
const KEY_SHARE = 0.5;

/** True when a text contains at least half of a key in one piece, in any encoding. */
function containsKey(text: string, { keys }: Secrets): boolean {
  const folded = fold(text);
  return preparedKeys(keys).longForms.some(({ length, pieces }) =>
    findPieces(folded, pieces).some(({ start, end }) => end - start >= length * KEY_SHARE),
  );
}

/** What is looked for of some keys: the pieces of all, and those of each form of a long key by itself. */
interface PreparedKeys {
  pieces: Pieces;
  longForms: { length: number; pieces: Pieces }[];
}

/** A process has one key or a few, and prepares them anew only when one is replaced. */
const MOST_PREPARED = 8;
const prepared = new Map<string, PreparedKeys>();

function preparedKeys(keys: readonly string[]): PreparedKeys {
  const name = JSON.stringify(keys);
  const found = prepared.get(name);
  if (found) return found;
  const longKeys = keys.filter((key) => key.length >= PIECE_CHARS);
  const made = {
    pieces: piecesOf(keys.filter((key) => key !== '').flatMap(formsOf)),
    longForms: longKeys
      .flatMap(formsOf)
      .map((form) => ({ length: form.text.length, pieces: piecesOf([form]) })),
  };
  if (prepared.size >= MOST_PREPARED) prepared.clear();
  prepared.set(name, made);
  return made;
}

/** Unlike toLowerCase, this keeps every offset. */
function fold(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** One encoding of a key, and the shortest piece of it that counts. */
interface KeyForm {
  text: string;
  pieceChars: number;
}

function formsOf(key: string): KeyForm[] {
  const bytes = Buffer.from(key, 'utf8');
  // A URL escapes each byte separately, which decodes to latin1.
  const plain = [key, bytes.toString('latin1')].map((text) => ({
    text,
    pieceChars: Math.min(PIECE_CHARS, text.length),
  }));
  if (key.length < PIECE_CHARS) return plain;
  const base64 = base64Of(bytes).map((text) => ({ text, pieceChars: BASE64_PIECE_CHARS }));
  return [...plain, { text: bytes.toString('hex'), pieceChars: HEX_PIECE_CHARS }, ...base64];
}

/** By their length. */
type Pieces = Map<number, PiecesOfLength>;

interface PiecesOfLength {
  all: Set<string>;
  /** Most characters start no piece: checking them here takes a tenth of the time. */
  firsts: Uint8Array;
}

function piecesOf(forms: readonly KeyForm[]): Pieces {
  const pieces: Pieces = new Map();
  for (const { text, pieceChars: length } of forms) {
    const folded = fold(text);
    const { all, firsts } = pieces.get(length) ?? { all: new Set(), firsts: new Uint8Array(256) };
    pieces.set(length, { all, firsts });
    for (let at = 0; at + length <= folded.length; at++) {
      all.add(folded.slice(at, at + length));
      firsts[folded.charCodeAt(at) & 255] = 1;
    }
  }
  return pieces;
}

/** Base64 depends on the offset modulo 3. Characters that share bits with neighbouring bytes are left out. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const isWhole = padded.length % 3 === 0;
    const whole = padded.toString('base64').replace(/=+$/, '');
    const own = whole.slice(before === 0 ? 0 : before + 1, isWhole ? undefined : -1);
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function findPieces(text: string, pieces: Pieces): TextRange[] {
  const ranges: TextRange[] = [];
  for (const [length, { all, firsts }] of pieces) {
    for (let start = 0; start + length <= text.length; start++) {
      if (firsts[text.charCodeAt(start) & 255] === 0 || !all.has(text.slice(start, start + length))) continue;
      const last = ranges.at(-1);
      if (last && start > last.start && start <= last.end) last.end = start + length;
      else ranges.push({ start, end: start + length });
    }
  }
  return ranges;
}

function findWord(text: string, word: string): TextRange[] {
  const ranges: TextRange[] = [];
  const isLong = word.length >= SHORTEST_ANYWHERE_CHARS;
  for (let start = text.indexOf(word); start !== -1; start = text.indexOf(word, start + word.length)) {
    const end = start + word.length;
    const neighbours = text.charAt(start - 1) + text.charAt(end);
    if (isLong || !/[a-z0-9]/.test(neighbours)) ranges.push({ start, end });
  }
  // The end of the text may have cut the word.
  for (let length = word.length - 1; length >= SHORTEST_ANYWHERE_CHARS; length--) {
    if (text.endsWith(word.slice(0, length))) ranges.push({ start: text.length - length, end: text.length });
  }
  return ranges;
}
