import { cutToWidth, padToWidth, widthOf } from '../../src/cli/display-width';
import { wrapText } from '../../src/cli/wrap-text';
import { fc } from '../support/properties';

test.each<[string, number]>([
  ['', 0],
  ['fox', 3],
  ['狐狸', 4],
  ['여우', 4],
  ['ﾌｫｯｸｽ', 5],
  ['Ｆｏｘ', 6],
  ['e\u0301', 1],
  ['🦊', 2],
  ['❤\ufe0f', 2],
  ['…░█', 3],
])('%j takes %d columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test('a text that fits stays as it is, and a longer one ends with an ellipsis', () => {
  expect(cutToWidth('fox', 3)).toBe('fox');
  expect(cutToWidth('foxes', 3)).toBe('fo…');
  expect(cutToWidth('fox', 0)).toBe('');
  // Half of a wide character is not shown.
  expect(cutToWidth('狐狸狐', 4)).toBe('狐…');
});

const anyText = fc.string({ unit: 'binary', maxLength: 40 });

test('no text is wider than it may be, whatever is in it', () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 30 }), (text, columns) => {
      expect(widthOf(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
      expect(widthOf(padToWidth(text, columns))).toBeGreaterThanOrEqual(columns);
    }),
  );
});

test('lines are broken between words, and a word that is too long within itself', () => {
  expect(wrapText('the quick red fox', 9)).toEqual(['the quick', 'red fox']);
  expect(wrapText('a 狐狸狐狸狐狸', 5)).toEqual(['a', '狐狸', '狐狸', '狐狸']);
  expect(wrapText('', 5)).toEqual(['']);
});

test('wrapped lines have all the words and fit', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 2, max: 30 }), (text, columns) => {
      const lines = wrapText(text, columns);
      expect(lines.every((line) => widthOf(line) <= columns)).toBe(true);
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
    }),
  );
});
