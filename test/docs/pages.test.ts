import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scripts } from '../../package.json';
import { SETTING_NAMES } from '../../src/config/settings';
import { ASPECT_RATIOS, MAX_DURATION_SECONDS, RESOLUTIONS } from '../../src/contract/request';
import { BUILT_IN_PROFILES } from '../../src/service';
import { parser } from '../cli/parser';
import { DIALECT_NAMES } from '../dialects';
import { OWN_INTERFACES } from '../dialects/own-interfaces';
import { blocksOf, pageNames, readPage, readReadme, readSkill, sectionOf } from '../support/docs-page';
import { pagesIn } from '../support/markdown-links';

const root = join(__dirname, '../..');
const readme = readReadme();
const pages: Record<string, string> = Object.fromEntries(pageNames().map((name) => [name, readPage(name)]));
const all = { 'README.md': readme, 'SKILL.md': readSkill(), ...pages };

/** Everything else goes to a page. */
const MAX_README_LINES = 200;

test('the README fits into a few screens', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(MAX_README_LINES);
});

test('the index lists every page once, under a question', () => {
  const listed = [...readPage('README.md').matchAll(/^- \[.+\]\((.+)\): .+\?$/gm)].map(([, file]) => file);
  expect(listed.sort()).toEqual([...Object.keys(pages), 'decisions/README.md'].sort());
});

test.each(Object.entries(pages))('%s begins with a paragraph that says who it is for', (_name, text) => {
  expect(text).toMatch(/^# .+\n\nFor .+/);
});

/** Two paragraphs may end with the same word. */
const SHORTEST_DOUBLED_CHARS = 12;

/** Without code and tables. */
function doubledLines(text: string): string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/^ *\|.*$/gm, '');
  const lines = prose.split('\n').map((line) => line.trim());
  return lines.filter(
    (line, index) => line.length >= SHORTEST_DOUBLED_CHARS && lines.indexOf(line) !== index,
  );
}

test('no page has the same line of prose twice, which a merge may leave', () => {
  const pages = pagesIn(root, [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'SKILL.md',
    'docs',
    'examples',
  ]);
  const doubled = pages.flatMap((page) =>
    doubledLines(readFileSync(join(root, page), 'utf8')).map((line) => `${page}: ${line}`),
  );
  expect(doubled).toEqual([]);
  const fox = 'The quick brown fox';
  expect(doubledLines(`${fox}\n\njumps over\n\n${fox}\n\n| ${fox} |\n| ${fox} |\n`)).toEqual([fox]);
});

/** The arguments of each `videogen` command in the shell blocks of a page. */
function commandLines(text: string): string[][] {
  const blocks = [...blocksOf(text, 'sh'), ...blocksOf(text, 'console')];
  const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/\s+[#>|].*$/, ''));
  return lines.flatMap((line) => {
    const [, command] = /^(?:\$ )?(?:npx |node_modules\/[.]bin\/)?videogen (.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [wordsOf(command)];
  });
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

test('the program accepts every videogen command of the README, SKILL.md and the pages', async () => {
  const lines = Object.values(all).flatMap(commandLines);
  expect(lines.length).toBeGreaterThan(8);
  for (const words of lines) await parser().parseAsync(words, { from: 'user' });
  await expect(parser().parseAsync(['decide', 'NAME', '--adapt', 'x'], { from: 'user' })).rejects.toThrow(
    'unknown option',
  );
});

test('the page about the command line has a section for every command, and names every option', () => {
  const page = pages['cli.md'] ?? '';
  const names = parser().commands.flatMap((command) => [
    `\n## ${command.name()}\n`,
    ...command.options.map(({ long }) => long ?? ''),
  ]);
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});

test('every script that README, SKILL.md, pages and CONTRIBUTING name exists', () => {
  const texts = [...Object.values(all), readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')];
  const named = texts.flatMap((text) => [...text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)]);
  expect(named.length).toBeGreaterThan(5);
  const missing = named.map(([, name]) => name ?? '').filter((name) => !Object.hasOwn(scripts, name));
  expect(missing).toEqual([]);
});

test('the table of a request states the limits of its schema', () => {
  const list = (values: readonly string[]) => `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
  expect(pages['in-your-worker.md']).toContain(`| ${list(RESOLUTIONS)}. |`);
  expect(pages['in-your-worker.md']).toContain(`| ${list(ASPECT_RATIOS)}. |`);
  expect(pages['in-your-worker.md']).toContain(`at most ${MAX_DURATION_SECONDS}. |`);
});

const settingsIn = (text: string) => new Set(text.match(/\b(VIDEO_API|VIDEOGEN)_[A-Z0-9_]+\b/g));

test('the page about configuration names every setting that the code reads, and no page names another', () => {
  const read = new Set(SETTING_NAMES);
  expect([...settingsIn(pages['configuration.md'] ?? '')].sort()).toEqual([...read].sort());
  const unknown = Object.entries(all).flatMap(([name, text]) =>
    [...settingsIn(text)].filter((setting) => !read.has(setting)).map((setting) => `${name}: ${setting}`),
  );
  expect(unknown).toEqual([]);
});

test('the page about other services lists every service that was tried, and every built-in profile', () => {
  const section = sectionOf(readPage('other-services.md'), 'Which services were tried');
  const withRequests = [...section.matchAll(/^\| [^|]+ \| (?:`|\[)([a-z0-9]+)/gm)].map(([, name]) => name);
  expect(withRequests.sort()).toEqual(Object.keys(OWN_INTERFACES).sort());
  const named = section.toLowerCase().replaceAll(/\s/g, '-');
  const others = DIALECT_NAMES.filter((name) => name !== 'default' && !Object.hasOwn(OWN_INTERFACES, name));
  expect(others.filter((name) => !named.includes(name))).toEqual([]);
  expect(BUILT_IN_PROFILES.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});
