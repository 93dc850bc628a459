import type { TextRange } from './redact-links';

/** A text with its escapes decoded. */
export interface DecodedLayer {
  text: string;
  /** The range of the original text that a range of the decoded text comes from. */
  origin(range: TextRange): TextRange;
}

/** JSON in a URL in HTML, twice: services do not nest deeper. */
const MOST_LAYERS = 6;

/** The text itself, then with escapes of JSON, URLs and HTML decoded again and again, until none are left. */
export function* decodedLayers(text: string): Generator<DecodedLayer> {
  yield { text, origin: (range) => range };
  let current: Mapped | undefined = { text };
  for (let layer = 1; layer < MOST_LAYERS; layer++) {
    current = decodeEscapes(current);
    if (current === undefined) return;
    const { text: decoded, starts } = current;
    yield {
      text: decoded,
      origin: ({ start, end }) => ({ start: starts?.[start] ?? start, end: starts?.[end] ?? end }),
    };
  }
}

interface Mapped {
  text: string;
  /** The offset of each character in the original text, and at the end the original length. */
  starts?: Uint32Array;
}

const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\(.)|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&([a-z]{2,8});/gis;

function decodeEscapes({ text, starts }: Mapped): Mapped | undefined {
  if (!/[\\%&]/.test(text)) return undefined;
  const from = (at: number) => starts?.[at] ?? at;
  const mapped = new Uint32Array(text.length + 1);
  let decoded = '';
  let read = 0;
  const copyUpTo = (end: number) => {
    for (let at = read; at < end; at++) mapped[decoded.length + at - read] = from(at);
    decoded += text.slice(read, end);
    read = end;
  };
  for (const match of text.matchAll(ESCAPE)) {
    const character = decodeEscape(match);
    if (character === undefined) continue;
    copyUpTo(match.index);
    for (let at = 0; at < character.length; at++) mapped[decoded.length + at] = from(match.index);
    decoded += character;
    read = match.index + match[0].length;
  }
  if (read === 0) return undefined;
  copyUpTo(text.length);
  mapped[decoded.length] = from(text.length);
  return { text: decoded, starts: mapped.subarray(0, decoded.length + 1) };
}

const LARGEST_CODE_POINT = 0x10ffff;

function decodeEscape([, braces, json, hex, sign, url, htmlHex, html, name]: RegExpMatchArray):
  | string
  | undefined {
  const hexadecimal = braces ?? json ?? hex ?? url ?? htmlHex;
  if (hexadecimal !== undefined) return fromCodePoint(Number.parseInt(hexadecimal, 16));
  if (html !== undefined) return fromCodePoint(Number(html));
  if (name !== undefined) return ENTITIES.get(name.toLowerCase());
  return sign !== undefined && /[nrtbfv]/.test(sign) ? ' ' : sign;
}

function fromCodePoint(code: number): string | undefined {
  return code <= LARGEST_CODE_POINT ? String.fromCodePoint(code) : undefined;
}

/** HTML entities of characters that keys and links contain. */
const ENTITIES = new Map(
  Object.entries({
    ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', bsol: '\\', plus: '+', equals: '=' },
    ...{ colon: ':', semi: ';', period: '.', comma: ',', lowbar: '_', excl: '!', num: '#', dollar: '$' },
    ...{ percnt: '%', ast: '*', midast: '*', lpar: '(', rpar: ')', lsqb: '[', lbrack: '[', rsqb: ']' },
    ...{ rbrack: ']', lcub: '{', lbrace: '{', rcub: '}', rbrace: '}', hat: '^', grave: '`', vert: '|' },
    ...{ verbar: '|', quest: '?', commat: '@', tab: ' ', newline: ' ', nbsp: ' ' },
  }),
);
