import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '../..');
const MINUTES_MS = 60_000;

const SOURCES = {
  'src/cli/main.ts': 'export {};\n',
  'activities/index.ts': 'export {};\n',
  'workflows/index.ts': "export { answer } from './answer';\n",
  'workflows/answer.ts': 'export async function answer() { return 1; }\n',
};

describe('a start that ends halfway', () => {
  let folder: string;

  // Each test leaves dist current: a bundle takes seconds.
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'compile-'));
    for (const path of ['package.json', 'scripts', 'src/worker/own-workflows.ts']) {
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const [file, text] of Object.entries(SOURCES)) write(file, text);
    expect(compile()).toBe(0);
  }, MINUTES_MS);

  afterAll(() => rmSync(folder, { recursive: true }));

  function write(file: string, text: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }

  function compile(...args: string[]): number | null {
    return spawnSync(process.execPath, [join(folder, 'scripts/compile.cjs'), ...args]).status;
  }

  const output = (file: string) => readFileSync(join(folder, 'dist', file), 'utf8');

  test(
    'leaves nothing that the next one uses, though the sources were changed back',
    () => {
      write('workflows/answer.ts', "import './missing';\nexport async function answer() { return 2; }\n");
      expect(compile()).not.toBe(0);
      expect(output('workflows/answer.js')).toContain('return 2');
      write('workflows/answer.ts', SOURCES['workflows/answer.ts']);
      expect(compile()).toBe(0);
      expect(output('workflows/answer.js')).toContain('return 1');
    },
    MINUTES_MS,
  );

  test(
    'leaves no truncated bundle',
    () => {
      const whole = output('workflows/bundle.js');
      truncateSync(join(folder, 'dist/workflows/bundle.js'), 1_000);
      expect(compile()).toBe(0);
      expect(output('workflows/bundle.js')).toBe(whole);
    },
    MINUTES_MS,
  );

  test(
    'compiles a source that was edited while tsc ran',
    () => {
      const made = join(folder, 'made');
      cpSync(join(folder, 'dist'), made, { recursive: true });
      expect(compile('--clean')).toBe(0);
      write('workflows/answer.ts', 'export async function answer() { return 2; }\n');
      // What tsc made of the sources as they were.
      cpSync(made, join(folder, 'dist'), {
        recursive: true,
        filter: (path) => !path.endsWith('.made-from.json'),
      });
      expect(compile('--compiled')).toBe(0);
      expect(compile()).toBe(0);
      expect(output('workflows/answer.js')).toContain('return 2');
      expect(output('workflows/bundle.js')).toContain('return 2');
    },
    MINUTES_MS,
  );
});
