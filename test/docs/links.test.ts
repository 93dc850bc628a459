import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokenLinks, pagesIn } from '../support/markdown-links';

const ROOT = join(__dirname, '../..');
const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'SKILL.md', 'docs', 'examples'];

test('every link of every page leads to a file and a heading that exist', () => {
  const pages = pagesIn(ROOT, PAGES);
  expect(pages.length).toBeGreaterThan(10);
  expect(brokenLinks(ROOT, pages)).toEqual([]);
});

test('every file, folder and function of ours that a page names exists', () => {
  const pages = pagesIn(
    ROOT,
    PAGES.filter((page) => page !== 'CHANGELOG.md'),
  ).map((page) => readFileSync(join(ROOT, page), 'utf8'));
  const named = pages.flatMap((page) =>
    [...page.matchAll(/`((?:src|workflows|activities|test)\/[\w./-]+?)\/?`/g)].map(([, path]) =>
      String(path),
    ),
  );
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  for (const page of pages) {
    for (const [, name = '', file = ''] of page.matchAll(/`(\w+)` in `([\w./-]+[.]ts)`/g))
      expect(readFileSync(join(ROOT, file), 'utf8')).toMatch(new RegExp(`\\b${name}\\b`));
  }
});

test.each([
  ['to a missing page', '[a](docs/missing.md)', 'docs/missing.md'],
  ['to a missing heading', '[a](docs/page.md#other)', 'docs/page.md#other'],
  ['to a missing heading of its own page', '[a](#other)', '#other'],
  ['out of the folder', '[a](../package.json)', '../package.json'],
])('a link %s is found', (_what, text, link) => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-links-'));
  try {
    mkdirSync(join(folder, 'docs'));
    writeFileSync(join(folder, 'docs/page.md'), '# A page\n\n## The `one` heading\n');
    const good = '[b](docs/page.md#the-one-heading) `[c](nowhere.md)` [d](https://example.com/#x)';
    writeFileSync(join(folder, 'README.md'), `# Title\n\n${good}\n\n[e](#title) ${text}\n`);
    expect(brokenLinks(folder, pagesIn(folder, ['README.md', 'docs']))).toEqual([`README.md -> ${link}`]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
