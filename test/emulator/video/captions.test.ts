import { wrapText } from '../../../src/testing/video/captions';

test.each<[what: string, text: string, lines: string[]]>([
  ['in capitals, wrapped between words', 'A red fox in the snow', ['A RED FOX', 'IN THE', 'SNOW']],
  ['with single spaces', '  a \n\n b\tc ', ['A B C']],
  ['without accents and with plain quotes', '“Crème” – it’s', ['"CREME" -', "IT'S"]],
  [
    'with an ellipsis for what is left out',
    'one two three four five six seven eight',
    ['ONE TWO', 'THREE FOUR', 'FIVE SI...'],
  ],
  ['with a long word split', 'abcdefghijklmnop', ['ABCDEFGHIJ', 'KLMNOP']],
  ['with a block for each character that the font lacks', 'a 🦊 fox 狐', ['A █ FOX █']],
  ['as no lines if it has no visible characters', '\u200b\u0000', []],
])('a text is shown %s', (_what, text, lines) => {
  expect(wrapText(text, 10, 3)).toEqual(lines);
});
