import { likelyLeavesOf, profilePath, wordsOf } from '../../src/service/likely-paths';

const LETTERS = [...'abcdefghijklm'];

/** The value within so many objects. */
const nested = (depth: number, value: unknown) =>
  LETTERS.slice(0, depth).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
const manyKeys = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));

describe('the leaves of an answer', () => {
  const paths = (root: unknown) => likelyLeavesOf(root).map(({ path }) => path);

  it('are its texts and numbers, from the top down, with the words of their keys', () => {
    expect(likelyLeavesOf({ a: { ticketNo: 7 }, b: 'x', c: [true, null, 'y'] })).toEqual([
      { path: 'b', keys: [['b']], value: 'x' },
      { path: 'a.ticketNo', keys: [['a'], ['ticket', 'no']], value: 7 },
      { path: 'c[]', keys: [['c']], value: 'y' },
    ]);
  });

  it.each(['text', 7, [1], [{ a: 1 }], { a: [[1]] }, null])('are none that no path can reach: %j', (root) => {
    expect(likelyLeavesOf(root)).toEqual([]);
  });

  it.each(['a b', ' a', 'a ', 'a.b', '[a', 'a]', ''])(
    'are none under the key %j, which no path can have',
    (key) => {
      expect(paths({ [key]: 1, ok: 1 })).toEqual(['ok']);
    },
  );

  it('are those of the first 20 entries of a list, 12 keys deep', () => {
    expect(paths({ a: Array(21).fill(1) })).toHaveLength(20);
    expect(paths(nested(12, 1))).toEqual(['a.b.c.d.e.f.g.h.i.j.k.l']);
    expect(paths(nested(13, 1))).toEqual([]);
  });

  it.each([
    ['keys', manyKeys(5_100, 1), 4_999],
    ['entries', manyKeys(260, Array(20).fill(1)), 4_739],
  ])('are those of the first 5000 values of an answer with many %s', (_what, root, count) => {
    expect(likelyLeavesOf(root)).toHaveLength(count);
  });
});

it.each([
  ['ticketNo', ['ticket', 'no']],
  ['__Ticket--No_', ['ticket', 'no']],
  ['v2Url', ['v2', 'url']],
  [`${'x'.repeat(100)}_id`, ['x'.repeat(100)]],
])('the words of %s are %j', (key, words) => {
  expect(wordsOf(key)).toEqual(words);
});

it('a path of a profile is about every entry of a list', () => {
  expect(profilePath('a[0].videos[12].url')).toBe('a[].videos[].url');
});
