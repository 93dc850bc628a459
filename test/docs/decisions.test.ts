import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '../../docs/decisions');
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const records = readdirSync(FOLDER).filter((name) => name !== 'README.md');

test('the index lists every decision under its title, and no other', () => {
  const listed = [...read('README.md').matchAll(/^\| \[(.+)\]\((.+)\) \|/gm)].map(([, title, file]) => [
    file,
    title,
  ]);
  const titles = records.map((name) => [name, /^# (.+)$/m.exec(read(name))?.[1]]);
  expect(records.length).toBeGreaterThan(5);
  expect(listed.sort()).toEqual(titles.sort());
});

test.each(records)(
  '%s is short, and has context, decision, consequences and what would change it',
  (name) => {
    const text = read(name);
    expect(text.split('\n').length).toBeLessThanOrEqual(41);
    expect(text).toMatch(/^Status: (accepted|replaced by \[.+\]\(.+\))\.$/m);
    expect(text.match(/^## .*$/gm)).toEqual([
      '## Context',
      '## Decision',
      '## Consequences',
      '## What would change our mind',
    ]);
  },
);
