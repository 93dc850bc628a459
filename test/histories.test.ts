import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseHistories } from './support/released-histories.cjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-histories-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=fox', '-c', 'user.email=fox@example.com', ...args], { cwd: folder });

/** Commits a history, and releases it under a tag if there is one. */
function commitHistory(name: string, tag?: string): void {
  if (!existsSync(join(folder, '.git'))) git('init', '--quiet');
  writeFileSync(join(folder, `${name}.json`), '{}');
  git('add', '.');
  git('commit', '--quiet', '--message', name);
  if (tag !== undefined) git('tag', tag);
}

test('a released history is not recorded again, and the sentence says what to do instead', () => {
  commitHistory('well', 'v0.1.0');
  commitHistory('held', 'v0.2.0');
  expect(chooseHistories(folder, ['well', 'held'], ['held'])).toEqual({
    problem:
      'held.json was released with v0.2.0, and jobs like it may be running, so it is not recorded again. ' +
      "Put the change behind patched('…'), or release it as a new pinned version, and record its history under another name.",
  });
});

test('a history that is in no release may be recorded again', () => {
  commitHistory('well', 'v0.1.0');
  commitHistory('held');
  expect(chooseHistories(folder, ['well', 'held'], ['held'])).toEqual({ chosen: ['held'] });
});

test('without names only histories that do not exist are recorded', () => {
  commitHistory('well');
  expect(chooseHistories(folder, ['well', 'held'], [])).toEqual({ chosen: ['held'] });
});

test('outside a repository nothing that exists is recorded again', () => {
  writeFileSync(join(folder, 'well.json'), '{}');
  expect(chooseHistories(folder, ['well'], ['well']).problem).toMatch(
    /^well\.json was released with a version that git/,
  );
  expect(readdirSync(folder)).toEqual(['well.json']);
});

test('an unknown name is refused with the known ones', () => {
  expect(chooseHistories(folder, ['well', 'held'], ['wel']).problem).toBe(
    'There is no story wel. There are: well, held.',
  );
});
