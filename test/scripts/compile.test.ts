import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const BUNDLE = ['.made-from.json', 'workflows/bundle.js', 'workflows/bundle.json'];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-compile-'));
  for (const part of ['scripts', 'src', 'workflows', 'activities', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'src/superfluous.ts'), 'export const a = 1;\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The files of dist except source maps. A version changes when the file is written. */
function versions(): Map<string, string> {
  const dist = join(folder, 'dist');
  const files = existsSync(dist) ? readdirSync(dist, { recursive: true, encoding: 'utf8' }) : [];
  return new Map(
    files
      .filter((file) => /[.]js(on)?$/.test(file))
      .map((file) => {
        const { ino, mtimeNs } = statSync(join(dist, file), { bigint: true });
        return [file, `${ino} ${mtimeNs}`];
      }),
  );
}

/** Runs the script, which prints nothing, and returns the files that it wrote. */
function compile(...args: string[]): string[] {
  const before = versions();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/compile.cjs', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
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

test('only changed sources are compiled, and the output of removed ones is deleted', () => {
  appendFileSync(join(folder, 'src/cli/dev.ts'), '// changed\n');
  rmSync(join(folder, 'src/superfluous.ts'));
  expect(compile()).toEqual(['.made-from.json', 'src/cli/dev.js']);
  expect(existsSync(join(folder, 'dist/src/superfluous.js'))).toBe(false);
});

test.each(['workflows/generate-video', 'src/contract/names'])(
  'the workflows are bundled again when %s has changed',
  (file) => {
    appendFileSync(join(folder, `${file}.ts`), 'export const changed = 1;\n');
    expect(compile()).toEqual([...BUNDLE, `${file}.js`].sort());
  },
);

test('with --compiled, the output of tsc is kept and its workflows are bundled', () => {
  appendFileSync(join(folder, 'workflows/generate-video.ts'), 'export const changedAgain = 1;\n');
  expect(compile('--compiled')).toEqual(BUNDLE);
  expect(compile()).toEqual([]);
});

test('a missing bundle is built again', () => {
  rmSync(join(folder, 'dist/workflows/bundle.js'));
  expect(compile()).toEqual(['workflows/bundle.js', 'workflows/bundle.json']);
});
