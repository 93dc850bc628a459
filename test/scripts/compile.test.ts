import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const BUNDLE = ['.made-from.json', 'workflows/bundle.js', 'workflows/bundle.json'];

/** Webpack needs ten seconds. Here the bundle is the code of one workflow, and fails as webpack does if a module is missing. */
const QUICK_BUNDLER = `
const { readFileSync, writeFileSync } = require('node:fs');
exports.writeBundle = async () => {
  const { bundleFiles, describeBundle } = require('../dist/src/worker/own-workflows');
  const code = readFileSync(require.resolve('../dist/workflows/generate-video'), 'utf8');
  if (code.includes('./missing')) throw new Error('there is no module ./missing');
  writeFileSync(bundleFiles().code, code);
  writeFileSync(bundleFiles().description, describeBundle(code));
};
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-compile-'));
  for (const part of ['scripts', 'src', 'workflows', 'activities', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'scripts/bundle-workflows.cjs'), QUICK_BUNDLER);
  writeFileSync(join(folder, 'src/superfluous.ts'), 'export const a = 1;\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const VERSIONED = /[.](m?js|json|css)$/;

/** The files of dist. A version changes when the file is written. */
function versions(): Map<string, string> {
  const dist = join(folder, 'dist');
  const files = existsSync(dist) ? readdirSync(dist, { recursive: true, encoding: 'utf8' }) : [];
  return new Map(
    files
      .filter((file) => VERSIONED.test(file))
      .map((file) => {
        const { ino, mtimeNs } = statSync(join(dist, file), { bigint: true });
        return [file, `${ino} ${mtimeNs}`];
      }),
  );
}

function runScript(...args: string[]) {
  return spawnSync(process.execPath, ['scripts/compile.cjs', ...args], { cwd: folder, encoding: 'utf8' });
}

/** Runs the script, which prints nothing, and returns the files that it wrote. */
function compile(...args: string[]): string[] {
  const before = versions();
  const { status, stdout, stderr } = runScript(...args);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  return [...versions()].flatMap(([file, version]) => (before.get(file) === version ? [] : [file])).sort();
}

test('the first run compiles and bundles everything, and the result runs', () => {
  const written = compile();
  expect(written).toEqual(expect.arrayContaining([...BUNDLE, 'src/cli/main.js', 'workflows/index.js']));
  const help = execFileSync(join(folder, 'dist/src/cli/main.js'), ['--help'], { encoding: 'utf8' });
  expect(help).toContain('videogen');
});

test('a run without changes writes nothing', () => {
  expect(compile()).toEqual([]);
});

test('only changed sources are compiled, changed files of the page are copied, and the output of removed ones is deleted', () => {
  const page = 'src/gateway/page/page.css';
  appendFileSync(join(folder, page), '/* changed */\n');
  appendFileSync(join(folder, 'src/cli/dev.ts'), '// changed\n');
  rmSync(join(folder, 'src/superfluous.ts'));
  expect(compile()).toEqual(['.made-from.json', 'src/cli/dev.js', page]);
  expect(readFileSync(join(folder, 'dist', page), 'utf8')).toBe(readFileSync(join(folder, page), 'utf8'));
  expect(existsSync(join(folder, 'dist/src/superfluous.js'))).toBe(false);
});

test('the workflows are bundled again when the contract or the script that bundles them has changed', () => {
  appendFileSync(join(folder, 'src/contract/names.ts'), 'export const changed = 1;\n');
  expect(compile()).toEqual([...BUNDLE, 'src/contract/names.js'].sort());
  appendFileSync(join(folder, 'scripts/bundle-workflows.cjs'), '// changed\n');
  expect(compile()).toEqual(BUNDLE);
});

test('a truncated bundle is built again', () => {
  truncateSync(join(folder, 'dist/workflows/bundle.js'), 1_000);
  expect(compile()).toEqual(['workflows/bundle.js', 'workflows/bundle.json']);
});

test('a run that ends halfway leaves nothing that the next one uses, though the sources were changed back', () => {
  const file = join(folder, 'workflows/generate-video.ts');
  const original = readFileSync(file, 'utf8');
  const output = () => readFileSync(join(folder, 'dist/workflows/generate-video.js'), 'utf8');
  appendFileSync(file, "import './missing';\nexport const halfway = 1;\n");
  expect(runScript().status).not.toBe(0);
  expect(output()).toContain('halfway');
  writeFileSync(file, original);
  expect(compile()).toEqual([...BUNDLE, 'workflows/generate-video.js'].sort());
  expect(output()).not.toContain('halfway');
});

test('with --compiled, the output of tsc is kept and bundled, and a source edited while tsc ran is compiled by the next run', () => {
  const dist = join(folder, 'dist');
  const made = join(folder, 'made');
  cpSync(dist, made, { recursive: true });
  runScript('--clean');
  expect(readdirSync(dist)).toEqual(['.made-from.json']);
  appendFileSync(join(folder, 'workflows/generate-video.ts'), 'export const editedMeanwhile = 1;\n');
  // What tsc made of the sources as they were.
  cpSync(made, dist, {
    recursive: true,
    filter: (path) => !/[.]made-from[.]json$|[/](page|profiles)$/.test(path),
  });
  const copied = readdirSync(join(folder, 'src/gateway/page')).map((file) => `src/gateway/page/${file}`);
  expect(compile('--compiled')).toEqual([...BUNDLE, ...copied.filter((file) => VERSIONED.test(file))].sort());
  for (const file of ['gateway/page/index.html', 'service/profiles/ark.yaml'])
    expect(existsSync(join(dist, 'src', file))).toBe(true);
  expect(compile()).toEqual([...BUNDLE, 'workflows/generate-video.js'].sort());
  expect(compile()).toEqual([]);
});
