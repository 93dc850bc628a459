import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { name as packageName, scripts } from '../../package.json';
import { SETTING_NAMES } from '../../src/config/settings';
import { BUILT_IN_PROFILES } from '../../src/service';
import { parser } from '../cli/parser';
import { DIALECT_NAMES } from '../dialects';
import { OWN_INTERFACES } from '../dialects/own-interfaces';
import {
  blocksOf,
  pageNames,
  readPage,
  readReadme,
  readSkill,
  sectionOf,
  wordsOf,
} from '../support/docs-page';
import { brokenLinks, pagesIn } from '../support/markdown-links';

const ROOT = join(__dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const readme = readReadme();
const skill = readSkill();
const pages: Record<string, string> = Object.fromEntries(pageNames().map((name) => [name, readPage(name)]));
/** What users read. */
const all = {
  'README.md': readme,
  'SKILL.md': skill,
  'INTEGRATION.md': read('INTEGRATION.md'),
  ...pages,
};
/** All files of Markdown, by path. */
const files = pagesIn(ROOT, [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'SKILL.md',
  'INTEGRATION.md',
  'docs',
  'examples',
]);

test('the index lists every page once, under a question', () => {
  const listed = [...readPage('README.md').matchAll(/^- \[.+\]\((.+)\): .+\?$/gm)].map(([, file]) => file);
  expect(listed.sort()).toEqual([...Object.keys(pages), 'decisions/README.md'].sort());
});

test('every link of every page leads to a file and a heading that exist', () => {
  expect(files.length).toBeGreaterThan(10);
  expect(brokenLinks(ROOT, [...files, 'llms.txt'])).toEqual([]);
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
  expect(files.flatMap((file) => doubledLines(read(file)).map((line) => `${file}: ${line}`))).toEqual([]);
  const fox = 'The quick brown fox';
  expect(doubledLines(`${fox}\n\njumps over\n\n${fox}\n\n| ${fox} |\n| ${fox} |\n`)).toEqual([fox]);
});

test('every file, folder and function of ours that a page names exists', () => {
  const texts = files.filter((file) => file !== 'CHANGELOG.md').map(read);
  const named = texts.flatMap((text) =>
    [...text.matchAll(/`((?:src|workflows|activities|test)\/[\w./-]+?)\/?`/g)].map(([, path]) =>
      String(path),
    ),
  );
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  for (const text of texts) {
    for (const [, name = '', file = ''] of text.matchAll(/`(\w+)` in `([\w./-]+[.]ts)`/g))
      expect(read(file)).toMatch(new RegExp(`\\b${name}\\b`));
  }
});

describe('the command line', () => {
  /** The arguments of each `videogen` command in the shell blocks of a page. */
  function commandLines(text: string): string[][] {
    const blocks = [...blocksOf(text, 'sh'), ...blocksOf(text, 'console')];
    const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/\s+[#>|].*$/, ''));
    return lines.flatMap((line) => {
      const [, command] = /^(?:\$ )?(?:npx |node_modules\/[.]bin\/)?videogen (.*)$/.exec(line) ?? [];
      return command === undefined ? [] : [wordsOf(command)];
    });
  }

  it('accepts every videogen command of the README, SKILL.md and the pages', async () => {
    const lines = Object.values(all).flatMap(commandLines);
    expect(lines.length).toBeGreaterThan(8);
    for (const words of lines) await parser().parseAsync(words, { from: 'user' });
    await expect(parser().parseAsync(['decide', 'NAME', '--adapt', 'x'], { from: 'user' })).rejects.toThrow(
      'unknown option',
    );
  });

  it('has a page with a section for every command, which names every option', () => {
    const names = parser().commands.flatMap((command) => [
      `\n## ${command.name()}\n`,
      ...command.options.map(({ long }) => long ?? ''),
    ]);
    expect(names.filter((name) => !pages['cli.md']?.includes(name))).toEqual([]);
  });
});

test('every script that README, SKILL.md, pages and CONTRIBUTING name exists', () => {
  const texts = [...Object.values(all), read('CONTRIBUTING.md')];
  const named = texts.flatMap((text) => [...text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)]);
  expect(named.length).toBeGreaterThan(5);
  const missing = named.map(([, name]) => name ?? '').filter((name) => !Object.hasOwn(scripts, name));
  expect(missing).toEqual([]);
});

test('the page about configuration names every setting that the code reads, and no page names another', () => {
  const settingsIn = (text: string) => new Set(text.match(/\b(VIDEO_API|VIDEOGEN)_[A-Z0-9_]+\b/g));
  const known = new Set(SETTING_NAMES);
  expect([...settingsIn(pages['configuration.md'] ?? '')].sort()).toEqual([...known].sort());
  const unknown = Object.entries(all).flatMap(([name, text]) =>
    [...settingsIn(text)].filter((setting) => !known.has(setting)).map((setting) => `${name}: ${setting}`),
  );
  expect(unknown).toEqual([]);
});

test('the page about other services lists every service that was tried, and every built-in profile', () => {
  const section = sectionOf(readPage('other-services.md'), 'Which services were tried');
  const withRequests = [...section.matchAll(/^\| [^|]+ \| (?:`|\[)([a-z0-9]+)/gm)].map(([, name]) => name);
  expect(withRequests.sort()).toEqual(Object.keys(OWN_INTERFACES).sort());
  const named = section.toLowerCase().replaceAll(/\s/g, '-');
  const others = DIALECT_NAMES.filter((name) => !Object.hasOwn(OWN_INTERFACES, name));
  expect(others.filter((name) => !named.includes(name))).toEqual([]);
  expect(BUILT_IN_PROFILES.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});

test('every decision is listed in their index under its title', () => {
  const records = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md');
  const titles = records.map((name) => [name, /^# (.+)$/m.exec(readPage(`decisions/${name}`))?.[1]]);
  const listed = [...readPage('decisions/README.md').matchAll(/^\| \[(.+)\]\((.+)\) \|/gm)];
  expect(records.length).toBeGreaterThan(5);
  expect(listed.map(([, title, file]) => [file, title]).sort()).toEqual(titles.sort());
});

describe('the page about the architecture', () => {
  const page = readPage('architecture.md');

  it('walks one video through few files', () => {
    const section = sectionOf(page, 'One video through the code');
    const walk = Array.from(section.matchAll(/^\d+\. `([\w./-]+[.]ts)`/gm), ([, file = '']) => file);
    expect(walk.length).toBeGreaterThan(10);
    // As many as one can read in an hour.
    expect(walk.length).toBeLessThanOrEqual(22);
    expect(walk.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('has every room of the house in its table of folders', () => {
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `\`src/${name}\``);
    const table = sectionOf(page, 'Folders');
    expect(rooms.filter((room) => !table.includes(room))).toEqual([]);
  });
});

describe('SKILL.md', () => {
  it('begins with the name and the description that agents choose it by', () => {
    const [, frontMatter = ''] = /^---\n(.*?)^---\n\n# /ms.exec(skill) ?? [];
    const { description, ...others } = parse(frontMatter);
    expect(others).toEqual({ name: packageName });
    // The limits of agentskills.io.
    expect(packageName).toMatch(/^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(description).toMatch(/^(?=.{1,1024}$).+[.] Use it when .+[.]$/);
  });

  it('has all commands in its shell blocks, which test/package/skill.test.ts runs', () => {
    const prose = skill.replaceAll(/^```.*?^```$/gms, '');
    expect(prose.match(/`(?:npx|npm|node|videogen) [^`]*`/g)).toBeNull();
  });
});

test('llms.txt begins with a title and a summary, and lists every page of docs once', () => {
  const text = read('llms.txt');
  expect(text).toMatch(/^# temporal-videogen\n\n> .+\n\n[^#>-].+\n\n## /);
  const listed = Array.from(
    text.matchAll(/^- \[[^\]]+\]\((docs\/[^/)]+)\): [A-Z][^.]+[.]$/gm),
    ([, page]) => page,
  );
  expect(listed.sort()).toEqual(['README.md', ...Object.keys(pages)].map((name) => `docs/${name}`).sort());
});
