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

/** Each file of dist but the maps, with what tells one that was written anew. */
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

/** The files that a run writes; it prints nothing. */
function compile(...args: string[]): string[] {
  const before = versions();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/compile.cjs', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  return [...versions()].flatMap(([file, version]) => (before.get(file) === version ? [] : [file])).sort();
}

test('everything is translated and bundled the first time, and what comes of it runs', () => {
  const made = compile();
  expect(made).toEqual(expect.arrayContaining([...BUNDLE, 'src/cli/main.js', 'workflows/index.js']));
  const help = execFileSync(join(folder, 'dist/src/cli/main.js'), ['--help'], { encoding: 'utf8' });
  expect(help).toContain('videogen');
});

test('nothing is done when nothing has changed', () => {
  expect(compile()).toEqual([]);
});

test('only what has changed is translated, and what is gone goes', () => {
  appendFileSync(join(folder, 'src/cli/dev.ts'), '// changed\n');
  rmSync(join(folder, 'src/superfluous.ts'));
  expect(compile()).toEqual(['.made-from.json', 'src/cli/dev.js']);
  expect(existsSync(join(folder, 'dist/src/superfluous.js'))).toBe(false);
});

test.each(['workflows/generate-video', 'src/contract/names'])(
  'the workflows are bundled anew when %s has changed',
  (file) => {
    appendFileSync(join(folder, `${file}.ts`), 'export const changed = 1;\n');
    expect(compile()).toEqual([...BUNDLE, `${file}.js`].sort());
  },
);

test('what tsc has translated is left, and its workflows are bundled', () => {
  appendFileSync(join(folder, 'workflows/generate-video.ts'), 'export const changedAgain = 1;\n');
  expect(compile('--compiled')).toEqual(BUNDLE);
  expect(compile()).toEqual([]);
});

test('a bundle that is missing is made again', () => {
  rmSync(join(folder, 'dist/workflows/bundle.js'));
  expect(compile()).toEqual(['workflows/bundle.js', 'workflows/bundle.json']);
});
