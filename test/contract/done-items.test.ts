import { isPacked, packItems } from '../../src/contract/done-items';
import { jsonBytes } from '../../src/contract/sizes';
import { fc } from '../support/properties';

const all = Array.from({ length: 320 }, (_, index) => index + 1);

test('packed items are the ones that were packed, in whatever order and how often', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300 })), (items) => {
      const packed = packItems(items);
      const found = all.filter((item) => isPacked(packed, item));
      expect(found).toEqual(all.filter((item) => items.includes(item)));
    }),
  );
});

test('none are packed as nothing', () => {
  expect(packItems([])).toBe('');
  expect(isPacked('', 1)).toBe(false);
});

test('a million items, every other of them done, fit into one answer of Temporal', () => {
  const packed = packItems(Array.from({ length: 500_000 }, (_, index) => 2 * index + 1));
  expect(jsonBytes(packed)).toBeLessThan(300_000);
  expect([1, 2, 999_999, 1_000_000].map((item) => isPacked(packed, item))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
