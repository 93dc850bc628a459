import { execFileSync } from 'node:child_process';
import { inShell } from '../../src/contract/in-shell';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

test.each([
  ['fox-1', 'fox-1'],
  ['./foxes/red.jsonl', './foxes/red.jsonl'],
  ['', "''"],
  ['red fox', "'red fox'"],
  ["fox's", "'fox'\\''s'"],
  ['t1; touch x', "'t1; touch x'"],
  ['$(touch x)', "'$(touch x)'"],
  ['=ls', "'=ls'"],
  ['~', "'~'"],
  ['狐', "'狐'"],
  ['a\u001b[2J!', `"$(printf 'a\\033\\1332J\\041')"`],
  ['\u202ea%', `"$(printf '\\342\\200\\256a\\045')"`],
  ['a\0b', `"$(printf 'ab')"`],
])('%j is typed as %s', (argument, typed) => {
  expect(inShell(argument)).toBe(typed);
});

test.each(['sh', 'bash'])('%s reads every argument as it was, and nothing steers its screen', (shell) => {
  const given = fc.sample(hostileText, { numRuns: 1_000, seed: 10 });
  const typed = given.map(inShell);
  expect(typed.filter((word) => STEERING.test(word))).toEqual([]);
  const read = execFileSync(shell, ['-c', `printf '%s\\0' ${typed.join(' ')}`], { encoding: 'utf8' });
  expect(read.split('\0').slice(0, -1)).toEqual(given);
});
