import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokenLinks } from '../support/markdown-links';
import { atLength, testAtNight } from '../support/nightly';
import { ROOT, run, tarball, tool } from './run';

// Each tool reads the types of the whole package.
jest.setTimeout(3 * 60_000);

let folder: string;
let files: string[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-unpacked-'));
  await run('tar', ['-xzf', tarball(), '-C', folder, '--strip-components=1'], { cwd: folder });
  files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('every entry point matches its reviewed API report and exports the types it uses; npm run api updates it', async () => {
  await run(process.execPath, ['api/report.cjs', '--check'], { cwd: ROOT });
});

testAtNight('the reference has every type that an entry point uses, and its links work', async () => {
  // Types are checked elsewhere, and the pages are not used.
  await tool('typedoc', '--options', 'api/typedoc.cjs', '--emit', 'none', '--skipErrorChecking');
});

test('publint finds no problem', async () => {
  await tool('publint', 'run', tarball(), '--strict');
});

test('every entry point has types for CommonJS, ES modules and bundlers', async () => {
  // Not for `moduleResolution: node10`, which ignores `exports`: TypeScript 6 deprecates it, the main entry point works with
  // it, and `typesVersions` would be a second list of the entry points.
  // All entry points are plain paths: one shows the kind, and installed.test.ts imports the rest.
  const which = atLength(['--entrypoints', 'worker'], []);
  await tool('attw', tarball(), '--profile', 'node16', '--quiet', ...which);
});

test('the package has the build files of the servers, the bundle, the page and the profiles, and no test, key or video', () => {
  const copied = ['src/gateway/page', 'src/service/profiles'].flatMap((from) =>
    readdirSync(join(ROOT, from)).map((file) => `dist/${from}/${file}`),
  );
  const built = ['dist/workflows/bundle.js', 'dist/workflows/bundle.json', ...copied];
  expect(files).toEqual(expect.arrayContaining(built));
  expect(files).not.toContain('dist/.made-from.json');
  const folders = ['deploy', 'dist', 'docs', 'examples', 'src'];
  const pages = [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'INTEGRATION.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'SKILL.md',
  ];
  const others = ['llms.txt', 'package.json', 'profile.schema.json', 'services.schema.json'];
  const topLevel = new Set(files.map((file) => file.split('/')[0]));
  expect([...topLevel].sort()).toEqual([...folders, ...pages, ...others].sort());
  expect(files.filter((file) => /^(docs\/.*\.cjs|examples\/dist)/.test(file))).toEqual([]);
});

test('the package has at most 1.5 MB and 900 files, none of them a source map', () => {
  expect(statSync(tarball()).size).toBeLessThanOrEqual(1_500_000);
  expect(files.length).toBeLessThanOrEqual(900);
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
});

test('the links of README, SKILL.md, llms.txt and docs work inside an installed package', () => {
  const pages = files.filter((file) => file.endsWith('.md') || file === 'llms.txt');
  expect(pages).toEqual(
    expect.arrayContaining(['README.md', 'SKILL.md', 'llms.txt', 'docs/decisions/README.md']),
  );
  expect(brokenLinks(folder, pages)).toEqual([]);
});

test('the README shows the program that installed.test.ts compiles and runs', () => {
  const program = readFileSync(join(ROOT, 'examples/ten-lines/main.ts'), 'utf8');
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`\`\`\`ts\n${program}\`\`\``);
});
