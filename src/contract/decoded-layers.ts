import type { TextRange } from './redact-links';

/** A text as it reads when its escapes are undone, and where each of its characters comes from. */
export interface DecodedLayer {
  text: string;
  /** The range of the text as it came that a range of this one stands for. */
  origin(range: TextRange): TextRange;
}

/** JSON in a URL in HTML, and once more: nobody escapes oftener. */
const MOST_LAYERS = 6;

/** The text itself, then with its escapes of JSON, of URLs and of HTML undone, once, twice, until there are none. */
export function* decodedLayers(text: string): Generator<DecodedLayer> {
  yield { text, origin: (range) => range };
  let current: Mapped | undefined = { text };
  for (let layer = 1; layer < MOST_LAYERS; layer++) {
    current = undoEscapes(current);
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
  /** Where each character begins in the text as it came, and behind them where that ends. */
  starts?: Uint32Array;
}

const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\(.)|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&([a-z]{2,8});/gis;

function undoEscapes({ text, starts }: Mapped): Mapped | undefined {
  if (!/[\\%&]/.test(text)) return undefined;
  const from = (at: number) => starts?.[at] ?? at;
  const mapped = new Uint32Array(text.length + 1);
  let decoded = '';
  let read = 0;
  const keepUpTo = (end: number) => {
    for (let at = read; at < end; at++) mapped[decoded.length + at - read] = from(at);
    decoded += text.slice(read, end);
    read = end;
  };
  for (const match of text.matchAll(ESCAPE)) {
    const character = meantBy(match);
    if (character === undefined) continue;
    keepUpTo(match.index);
    for (let at = 0; at < character.length; at++) mapped[decoded.length + at] = from(match.index);
    decoded += character;
    read = match.index + match[0].length;
  }
  if (read === 0) return undefined;
  keepUpTo(text.length);
  mapped[decoded.length] = from(text.length);
  return { text: decoded, starts: mapped.subarray(0, decoded.length + 1) };
}

const LARGEST_CODE_POINT = 0x10ffff;

function meantBy([, braces, json, hex, sign, url, htmlHex, html, name]: RegExpMatchArray):
  | string
  | undefined {
  const hexadecimal = braces ?? json ?? hex ?? url ?? htmlHex;
  if (hexadecimal !== undefined) return ofCode(Number.parseInt(hexadecimal, 16));
  if (html !== undefined) return ofCode(Number(html));
  if (name !== undefined) return ENTITIES.get(name.toLowerCase());
  return sign !== undefined && /[nrtbfv]/.test(sign) ? ' ' : sign;
}

function ofCode(code: number): string | undefined {
  return code <= LARGEST_CODE_POINT ? String.fromCodePoint(code) : undefined;
}

/** The names of HTML for what a key or a link may hold. */
const ENTITIES = new Map(
  Object.entries({
    ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', bsol: '\\', plus: '+', equals: '=' },
    ...{ colon: ':', semi: ';', period: '.', comma: ',', lowbar: '_', excl: '!', num: '#', dollar: '$' },
    ...{ percnt: '%', ast: '*', midast: '*', lpar: '(', rpar: ')', lsqb: '[', lbrack: '[', rsqb: ']' },
    ...{ rbrack: ']', lcub: '{', lbrace: '{', rcub: '}', rbrace: '}', hat: '^', grave: '`', vert: '|' },
    ...{ verbar: '|', quest: '?', commat: '@', tab: ' ', newline: ' ', nbsp: ' ' },
  }),
);
