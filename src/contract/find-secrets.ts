import type { TextRange } from './redact-links';

/** What a call carries that nobody else may see. */
export interface Secrets {
  /** Hidden also in pieces: a service may cut what it quotes. */
  keys: readonly string[];
  /** Hidden where they stand whole. Some are words, such as a version, of which a piece tells nothing. */
  others: readonly string[];
}

export const NO_SECRETS: Secrets = { keys: [], others: [] };

/** A shorter piece of a key is of no use to anybody, and would be found in many a word. */
const PIECE = 8;
/** Eight bytes of a key are at least so many characters of base64, wherever among others they stand. */
const BASE64_PIECE = 10;
const HEX_PIECE = 2 * PIECE;

/** What is shorter is a word such as `1` or `mp4`: it hides nothing, and would be cut out of every sentence. */
const SHORTEST_WORD = 4;
/** Shorter ones, such as `beta`, are hidden where they stand alone. */
const SHORTEST_ANYWHERE = 8;

/** Finds secrets in a text whose escapes are undone, whatever case they are in. Not in workflows: they have no `Buffer`. */
export function secretFinder({ keys, others }: Secrets): (text: string) => TextRange[] {
  const pieces = piecesOf(keys.filter((key) => key !== '').flatMap(formsOf));
  const words = others.map(fold).filter((word) => word.length >= SHORTEST_WORD);
  return (text) => {
    const folded = fold(text);
    return [...findPieces(folded, pieces), ...words.flatMap((word) => findWord(folded, word))];
  };
}

/** Of a key, in one stretch: no id has so much of it by chance. */
const TELLING_SHARE = 0.5;

/** Whether a text holds a key or the better part of one, in any of its forms. */
export function holdsKey(text: string, { keys }: Secrets): boolean {
  const folded = fold(text);
  return keys
    .filter((key) => key.length >= PIECE)
    .flatMap(formsOf)
    .some((form) =>
      findPieces(folded, piecesOf([form])).some(
        ({ start, end }) => end - start >= form.text.length * TELLING_SHARE,
      ),
    );
}

/** Unlike toLowerCase, this leaves every character in its place. */
function fold(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A way to write a key, and how long a piece of it is told from a word. */
interface KeyForm {
  text: string;
  piece: number;
}

function formsOf(key: string): KeyForm[] {
  const bytes = Buffer.from(key, 'utf8');
  // In a URL, each byte is escaped by itself.
  const plain = [key, bytes.toString('latin1')].map((text) => ({
    text,
    piece: Math.min(PIECE, text.length),
  }));
  if (key.length < PIECE) return plain;
  const base64 = base64Of(bytes).map((text) => ({ text, piece: BASE64_PIECE }));
  return [...plain, { text: bytes.toString('hex'), piece: HEX_PIECE }, ...base64];
}

/** By their length. */
type Pieces = Map<number, PiecesOfLength>;

interface PiecesOfLength {
  all: Set<string>;
  /** Most characters begin no piece: looking them up here is a tenth of the time. */
  firsts: Uint8Array;
}

function piecesOf(forms: readonly KeyForm[]): Pieces {
  const pieces: Pieces = new Map();
  for (const { text, piece: length } of forms) {
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

/** Three characters of base64 before it or none, it reads otherwise; the characters that it shares with others are left out. */
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
  const isLong = word.length >= SHORTEST_ANYWHERE;
  for (let start = text.indexOf(word); start !== -1; start = text.indexOf(word, start + word.length)) {
    const end = start + word.length;
    const neighbours = text.charAt(start - 1) + text.charAt(end);
    if (isLong || !/[a-z0-9]/.test(neighbours)) ranges.push({ start, end });
  }
  // Where a text was cut, it may have been cut within the word.
  for (let length = word.length - 1; length >= SHORTEST_ANYWHERE; length--) {
    if (text.endsWith(word.slice(0, length))) ranges.push({ start: text.length - length, end: text.length });
  }
  return ranges;
}
