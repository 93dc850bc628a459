import { execFileSync } from 'node:child_process';
import {
  cleanText,
  codeMarkdown,
  hasControls,
  inShell,
  plainMarkdown,
  printable,
  printableJson,
  shown,
} from '../../src/contract/clean-text';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

describe('the text of a service', () => {
  it.each([
    ['plain words', 'plain words'],
    ['\u001b[31mred\u001b[0m \u001b[1;4Hmoved', 'red moved'],
    ['\u001b]0;title\u0007named \u001b]8;;https://x\u001b\\linked', 'named linked'],
    ['nul\u0000byte', 'nul byte'],
    ['next\u0085line\u2028and\u2029paragraph', 'next line and paragraph'],
    ['turned \u202Earound\u202C', 'turned around'],
    ['\uFEFFmarked', 'marked'],
    ['\n\u001b[2J', ''],
  ])('%j is cleaned to %j', (text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it('is cut with an ellipsis, and never inside a character', () => {
    expect(cleanText('x'.repeat(500))).toBe('x'.repeat(500));
    expect(cleanText('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    expect(cleanText('ab🦊🦊', 4)).toBe('ab…');
    expect(cleanText('a🦊🦊', 4)).toBe('a🦊…');
  });
});

test('text for a terminal has no control characters but line ends, and a name not even those', () => {
  expect(printable('a\u001b[31mb\r\n\tc\u202e\u009bd\n')).toBe('ab \n c  d\n');
  expect(shown('fox\nDone. Now type: rm -rf x')).toBe('fox Done. Now type: rm -rf x');
  fc.assert(
    fc.property(hostileText, (text) => {
      expect(printable(text)).not.toMatch(STEERING);
      expect(shown(text)).not.toMatch(STEERING);
      expect(shown(text)).not.toContain('\n');
    }),
  );
});

test('JSON on a terminal has escapes for what would steer it, and parses to the exact value', () => {
  expect(printableJson({ a: 'x\u001b\u009b\u202e\u{e0001}\ny', b: 'ü' })).toBe(
    '{"a":"x\\u001b\\u009b\\u202e\\udb40\\udc01\\ny","b":"ü"}',
  );
  const value = fc.oneof(hostileText, fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(value, (text) => {
      const json = printableJson({ [text]: [text] });
      expect(json).not.toMatch(STEERING);
      expect(json).not.toContain('\n');
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ [text]: [text] })));
    }),
  );
});

test.each([
  ['task_1', '`task_1`'],
  ['a`b', '``a`b``'],
  ['`a` ![x](y)', '`` `a` ![x](y) ``'],
  ['', '`  `'],
  [' a b ', '`  a b  `'],
  ['a\n# b\u001b[2J\u202e', '`a # b `'],
])('%j is inline code as %j', (text, markdown) => {
  expect(codeMarkdown(text)).toBe(markdown);
});

test.each([
  ['<img src=x> [a](b) `c` ![d](e)', '\\<img src=x\\> \\[a\\](b) \\`c\\` \\!\\[d\\](e)'],
  ['a\n# b\u009b', 'a \\# b '],
])('%j is plain text as %j', (text, markdown) => {
  expect(plainMarkdown(text)).toBe(markdown);
});

test.each([
  ['fox-1', 'fox-1'],
  ['./foxes/red.jsonl', './foxes/red.jsonl'],
  ['', "''"],
  ["fox's", "'fox'\\''s'"],
  ['=ls', "'=ls'"],
  ['a\u001b[2J!', "'a!'"],
  ['a\nb\0c\u202e', "'a b c'"],
])('%j is typed as %s', (argument, typed) => {
  expect(inShell(argument)).toBe(typed);
});

test.each(['sh', 'bash'])('%s reads every argument unchanged that has no control characters', (shell) => {
  const given = fc.sample(
    hostileText.filter((text) => !hasControls(text)),
    { numRuns: 1_000, seed: 10 },
  );
  const typed = given.map(inShell);
  const read = execFileSync(shell, ['-c', `printf '%s\\0' ${typed.join(' ')}`], { encoding: 'utf8' });
  expect(read.split('\0').slice(0, -1)).toEqual(given);
});
