import { wrapText } from '../../src/emulator/wrap-text';

test.each<[what: string, text: string, lines: string[]]>([
  ['in capitals, with its words kept whole', 'A red fox in the snow', ['A RED FOX', 'IN THE', 'SNOW']],
  ['without more space than it needs', '  a \n\n b\tc ', ['A B C']],
  ['without accents and with plain quotes', '“Crème” – it’s', ['"CREME" -', "IT'S"]],
  [
    'with dots for what is left out',
    'one two three four five six seven eight',
    ['ONE TWO', 'THREE FOUR', 'FIVE SI...'],
  ],
  ['with a word that is too long cut', 'abcdefghijklmnop', ['ABCDEFGHIJ', 'KLMNOP']],
  ['with one block for a character that the font lacks', 'a 🦊 fox 狐', ['A █ FOX █']],
  ['as nothing when there is nothing to see', '\u200b\u0000', []],
])('a text is shown %s', (_what, text, lines) => {
  expect(wrapText(text, 10, 3)).toEqual(lines);
});
