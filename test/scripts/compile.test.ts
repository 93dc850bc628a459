import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

const ROOT = join(__dirname, '../..');
const BUNDLE = ['.made-from.json', 'workflows/bundle.js'];

/** A small package. Its bundle is the code of its workflow, and fails as webpack does if a module is missing. */
const FILES = {
  'src/cli/main.ts': '#!/usr/bin/env node\nconsole.log("videogen" satisfies string);\n',
  'src/contract/names.ts': 'export const name = 1;\n',
  'src/gateway/page/page.css': 'p {}\n',
  'src/service/profiles/ark.yaml': 'name: Ark\n',
  'src/superfluous.ts': 'export const a = 1;\n',
  'src/worker/own-workflows.ts': `
    import { existsSync } from 'node:fs';
    export const SDK_VERSIONS = {};
    export const findBundle = () => existsSync('dist/workflows/bundle.js') || undefined;`,
  'workflows/job.ts': 'export const job = 1;\n',
  'activities/submit.ts': '',
  'scripts/bundle-workflows.cjs': `
    const { readFileSync, writeFileSync } = require('node:fs');
    exports.writeBundle = async () => {
      const code = readFileSync('dist/workflows/job.js', 'utf8');
      if (code.includes('./missing')) throw new Error('there is no module ./missing');
      writeFileSync('dist/workflows/bundle.js', code);
    };`,
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-compile-'));
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  for (const script of ['compile.cjs', 'write-atomically.cjs'])
    cpSync(join(ROOT, 'scripts', script), join(folder, 'scripts', script));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** When each file of dist was written. */
function written(): Map<string, bigint> {
  const dist = join(folder, 'dist');
  const entries = existsSync(dist) ? readdirSync(dist, { recursive: true, withFileTypes: true }) : [];
  const files = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return new Map(files.map((file) => [relative(dist, file), statSync(file, { bigint: true }).mtimeNs]));
}

const runScript = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/compile.cjs', ...args], { cwd: folder, encoding: 'utf8' });

/** Runs the script, which prints nothing, and returns the files that it wrote. */
function compile(...args: string[]): string[] {
  const before = written();
  const { status, stdout, stderr } = runScript(...args);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  return [...written()].flatMap(([file, when]) => (before.get(file) === when ? [] : [file])).sort();
}

test('the first run compiles and bundles everything, and the result runs; the second writes nothing', () => {
  const sources = Object.keys(FILES).filter((file) => !file.startsWith('scripts'));
  const outputs = sources.map((file) => file.replace(/ts$/, 'js'));
  expect(compile()).toEqual([...BUNDLE, ...outputs].sort());
  expect(String(spawnSync(join(folder, 'dist/src/cli/main.js')).stdout)).toBe('videogen\n');
  expect(compile()).toEqual([]);
});

test('only changed sources are compiled, changed files of the page are copied, and the output of removed ones is deleted', () => {
  const page = 'src/gateway/page/page.css';
  appendFileSync(join(folder, page), '/* changed */\n');
  appendFileSync(join(folder, 'src/cli/main.ts'), '// changed\n');
  rmSync(join(folder, 'src/superfluous.ts'));
  expect(compile()).toEqual(['.made-from.json', 'src/cli/main.js', page]);
  expect(readFileSync(join(folder, 'dist', page), 'utf8')).toBe(readFileSync(join(folder, page), 'utf8'));
  expect(existsSync(join(folder, 'dist/src/superfluous.js'))).toBe(false);
});

test('the workflows are bundled again when the contract or the script that bundles them has changed', () => {
  appendFileSync(join(folder, 'src/contract/names.ts'), 'export const changed = 1;\n');
  expect(compile()).toEqual([...BUNDLE, 'src/contract/names.js'].sort());
  appendFileSync(join(folder, 'scripts/bundle-workflows.cjs'), '// changed\n');
  expect(compile()).toEqual(BUNDLE);
});

test('a run that ends halfway leaves nothing that the next one uses, though the sources were changed back', () => {
  const file = join(folder, 'workflows/job.ts');
  const output = () => readFileSync(join(folder, 'dist/workflows/job.js'), 'utf8');
  appendFileSync(file, "import './missing';\nexport const halfway = 1;\n");
  expect(runScript().status).not.toBe(0);
  expect(output()).toContain('halfway');
  writeFileSync(file, FILES['workflows/job.ts']);
  expect(compile()).toEqual([...BUNDLE, 'workflows/job.js'].sort());
  expect(output()).not.toContain('halfway');
});
