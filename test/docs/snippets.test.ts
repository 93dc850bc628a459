import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exports as entryPoints } from '../../package.json';
import { parseJobInput } from '../../src/contract/job-input';
import { blocksOf, pageNames, readPage, readReadme, readSkill } from '../support/docs-page';

const ROOT = join(__dirname, '../..');
const texts = [readReadme(), ...pageNames().map(readPage)];

/** The built declarations of the entry points, which the compiler reads in half the time of the sources. */
const PATHS = Object.fromEntries(
  Object.entries(entryPoints)
    .filter(([, target]) => target.endsWith('.js'))
    .map(([path, target]) => [
      path.replace('.', 'temporal-videogen'),
      [join(ROOT, target.replace(/[.]js$/, '.d.ts'))],
    ]),
);

const compilerOptions = {
  noEmit: true,
  noUnusedLocals: false,
  paths: PATHS,
  rootDir: '/',
  typeRoots: [join(ROOT, 'node_modules/@types')],
};

/** The compiler's errors in these files. One program for all, because the types of the packages take most of the time. */
function errorsIn(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-snippets-'));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*'], exclude: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const args = [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', folder, '--pretty', 'false'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((line) => line !== '');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('every TypeScript snippet of the README and the pages and every program of SKILL.md compiles, and one with a mistake does not', () => {
  const snippets = texts.flatMap((text) => blocksOf(text, 'ts'));
  expect(snippets.length).toBeGreaterThan(15);
  const mistaken =
    snippets.find((code) => code.includes('job.result()'))?.replace('result()', 'resulted()') ?? '';
  // Only an ES module has import.meta.
  const endOf = (code: string) => (code.includes('import.meta') ? 'mts' : 'ts');
  const named = snippets.map((code, index) => [`snippet-${index}.${endOf(code)}`, code]);
  // They have no type annotations, so that Node runs them as they are.
  const programs = blocksOf(readSkill(), 'js').map((code, index) => [`program-${index}.mts`, code]);
  expect(programs.length).toBeGreaterThan(2);
  const files = Object.fromEntries([...named, ...programs]);
  expect(errorsIn({ ...files, 'mistaken.ts': mistaken })).toEqual([
    expect.stringMatching(/^mistaken[.]ts.*'resulted' does not exist/),
  ]);
});

test('every JSON snippet of the README and the pages is a valid job', () => {
  const jobs = texts.flatMap((text) => blocksOf(text, 'json')).map((text) => parseJobInput(JSON.parse(text)));
  expect(jobs.length).toBeGreaterThan(1);
  expect(jobs.filter(({ ok }) => !ok)).toEqual([]);
});
