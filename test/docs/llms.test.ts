import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks } from '../support/markdown-links';

const ROOT = join(__dirname, '../..');
const FILE = 'llms.txt';
const text = readFileSync(join(ROOT, FILE), 'utf8');

/** The lines of the lists, each a link and one sentence. */
const entries = [...text.matchAll(/^- \[[^\]]+\]\((\S+)\): [A-Z][^.]+[.]$/gm)];

test('llms.txt has a title, a summary, a paragraph, and lists of links with one sentence each', () => {
  const [head = '', ...sections] = text.split(/^## /m);
  expect(head).toMatch(/^# temporal-videogen\n\n> .+\n\n[^#>-].+\n\n$/);
  expect(sections.length).toBeGreaterThan(2);
  const items = sections.flatMap((section) => section.split('\n').slice(1)).filter((line) => line !== '');
  expect(items).toEqual(entries.map(([line]) => line));
});

test('llms.txt lists every page of docs once, and every link leads to a file', () => {
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const links = entries.map(([, link = '']) => link);
  const listed = links.filter((link) => /^docs\/[^/]+$/.test(link));
  expect(listed.sort()).toEqual(pages.map((page) => `docs/${page}`).sort());
  expect(new Set(links).size).toBe(links.length);
  expect(brokenLinks(ROOT, [FILE])).toEqual([]);
});
