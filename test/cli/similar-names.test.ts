import { editDistance } from '../../src/cli/similar-names';

test.each([
  ['kitten', 'sitting', 3],
  ['', 'fox', 3],
  ['fox', '', 3],
  ['fox', 'fox', 0],
  ['fox', 'ox', 1],
  ['seed', 'sede', 2],
])('from %j to %j it takes %d letters', (from, to, letters) => {
  expect(editDistance(from, to, 5)).toBe(letters);
});
