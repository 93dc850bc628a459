import { hostileText } from '../support/hostile-text';
import { fc } from '../support/properties';

/** One of several, each as often as its weight says. */
export function weighted<T>(...choices: [weight: number, one: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Texts that parsers, paths and objects treat in a special way. */
const ODD_TEXTS = [
  ...['', ' ', '\0', '\ud800', '\udfff', '\ufeff', 'null', 'undefined', 'NaN', '-0', '1e999', '0x10', '١'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '..', '.', '/', '//', '../..', '~', 'C:\\x'],
  ...['{workflowId}', '{ext}', '{}', '{{x}}', '%2e%2e', '%', '%ff', '%00', 'con', 'aux.mp4', '.json', '-'],
  ...['true', 'false', '0', '1', '-1', '1.5', '9007199254740993', '12345678901234567890', '5s', '2h', '99y'],
  ...['http://', 'https://example.com/x', 'file:///etc/passwd', 's3://b', 'data:image/png;base64,AAAA'],
];

const LENGTHS = [100, 600, 3_000, 20_000, 130_000];
const REPEATED = [
  ...['a', '/', '//', '.', '../', ' ', '\n', '\t', '\\', '"', "'", '=', '&', '&a', '?', '%', '%2', '%25'],
  ...[
    '#',
    '0',
    '1.',
    '-',
    '_',
    ':',
    ';',
    ',',
    '@',
    '[',
    '{',
    '(',
    '<',
    '{"a":',
    '- ',
    '? ',
    '\u001b[',
    '\u001b]',
  ],
  ...['é', '狐', '🦊', '\u202e', '\u009b', 'Bearer ', 'https://', '\\u0061', '&#x61;', '&amp;', '*a', '&a '],
];

/** One thing many times, for code whose time or memory grows too fast. */
export const longText: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...REPEATED),
    fc.constantFrom(...LENGTHS),
    fc.constantFrom('', 'a', 'x/', '\n', '"', '🦊'),
    fc.constantFrom('', '!', 'x', '"', ' ', '}'),
  )
  .map(([unit, length, before, after]) => before + unit.repeat(Math.ceil(length / unit.length)) + after);

/** fast-check takes a second of processor time for its unit of all characters. */
const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));

export const anyText: fc.Arbitrary<string> = weighted(
  [5, hostileText],
  [3, fc.constantFrom(...ODD_TEXTS)],
  [2, fc.string({ unit: anyCharacter, maxLength: 20 })],
  [1, longText],
);

/** Any value of JSON, with some that only JavaScript has if asked. */
export const jsonValue: fc.Arbitrary<unknown> = weighted<unknown>(
  [4, anyText],
  [3, fc.constantFrom(null, true, false, 0, -1, 1.5, 5, 1e21, 2 ** 53)],
  [1, fc.array(anyText, { maxLength: 3 })],
  [1, fc.dictionary(anyText, anyText, { maxKeys: 3 })],
  [1, fc.constantFrom(10, 200).map((depth) => nested(depth))],
);

function nested(depth: number): unknown {
  return depth === 0 ? null : [nested(depth - 1)];
}

/** Values that JSON cannot have. */
export const scriptValue: fc.Arbitrary<unknown> = weighted<unknown>(
  [3, jsonValue],
  [1, fc.constantFrom<unknown>(undefined, Number.NaN, Infinity, 10n, Symbol('x'), new Map(), new Date(NaN))],
);

/** Fields of which most are valid, some are not, and a few should not be there. */
export function fields<Value>(
  valid: Record<string, readonly Value[]>,
  other: fc.Arbitrary<Value>,
): fc.Arbitrary<Record<string, Value>> {
  const known = Object.fromEntries(
    Object.entries(valid).map(([name, values]) => [
      name,
      weighted([14, fc.constantFrom(...values)], [2, fc.constantFrom(...values).chain(nearly)], [1, other]),
    ]),
  );
  const misspelt = fc.constantFrom(...Object.keys(valid)).chain(edited);
  const names = weighted([2, misspelt], [1, anyText]);
  return fc
    .tuple(
      fc.record(known, { requiredKeys: [] }),
      weighted([4, fc.constant<Record<string, Value>>({})], [1, fc.dictionary(names, other, { maxKeys: 2 })]),
    )
    .map(([good, more]) => ({ ...good, ...more }) as Record<string, Value>);
}

/** A text is edited; other values stay. */
function nearly<Value>(value: Value): fc.Arbitrary<Value> {
  return typeof value === 'string' ? (edited(value) as unknown as fc.Arbitrary<Value>) : fc.constant(value);
}

/** A text with a few places cut, doubled, replaced or filled. */
export function edited(text: string): fc.Arbitrary<string> {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const edit = fc.record({
    at: share,
    length: fc.constantFrom(0, 1, 1, 2, 5, 20),
    put: weighted([3, anyText], [2, fc.constantFrom('', '"', '{', ':')]),
  });
  return fc.array(edit, { maxLength: 3 }).map((edits) =>
    edits.reduce((now, { at, length, put }) => {
      const from = Math.floor(at * now.length);
      return now.slice(0, from) + put + now.slice(from + length);
    }, text),
  );
}
