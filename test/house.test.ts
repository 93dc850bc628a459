import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

const ROOT = join(__dirname, '..');
const FOLDERS = ['src', 'workflows', 'activities'];

interface Violation {
  from: string;
  rule: { name: string };
}

/** What the files below import. That the rules allow what we do is the business of `npm run lint`, which `npm test` runs first. */
const IMPORTED = [
  ...['src/contract/request.ts', 'src/service/index.ts', 'src/storage/index.ts', 'src/worker/index.ts'],
  ...['src/gateway/index.ts', 'src/cli/index.ts', 'workflows/index.ts', 'activities/index.ts'],
  'test/world.ts',
];

/** The cycle's other file. */
const BACK = ['src/service/e.ts', "import './d'; export const a = 1;"] as const;

/** Files with an import that is forbidden, by the rule that refuses it: one for each kind of rule. */
const FORBIDDEN: [file: string, code: string, rule: string][] = [
  ['src/contract/a.ts', "import '../service';", 'house: src/contract/'],
  ['src/contract/b.ts', "import type { a } from '../service'; export type A = a;", 'house: src/contract/'],
  ['src/service/a.ts', "import '../storage';", 'house: src/service/'],
  ['activities/a.ts', "import '../workflows';", 'house: activities/'],
  ['workflows/a.ts', "import '../src/storage';", 'house: workflows/'],
  ['workflows/b.ts', "import '../activities';", 'house: workflows/ (types of activities/ only)'],
  ['workflows/c.ts', "void import('../activities');", 'house: workflows/ (types of activities/ only)'],
  ['src/testing/a.ts', "import '../service';", 'house: src/testing/(?!index|test-environment)'],
  ['src/a.ts', "import './cli';", 'house: src/[^/]+[.]ts$'],
  ['src/gateway/page/a.mjs', "import '../index';", 'house: src/gateway/page/'],
  ['src/gateway/a.ts', "import '../worker';", 'house: src/gateway/'],
  ['src/cli/a.ts', "import '../../test/world';", 'house: src/cli/'],
  ['src/utils/a.ts', "import '../service';", 'house: no other rooms'],
  ['workflows/d.ts', "import '../src/contract/request';", 'sandbox: no zod'],
  [
    'workflows/e.ts',
    "import '@temporalio/client';",
    'sandbox: no packages but the workflow SDK and a pure digest',
  ],
  ['src/contract/c.ts', "import 'node:fs/promises';", 'sandbox: no Node built-ins'],
  ['src/client/a.ts', "import '@temporalio/worker';", 'client: not the worker SDK'],
  ['src/service/b.ts', "import './not-there';", 'nothing unresolved'],
  ['src/service/c.ts', "import 'typescript';", 'only declared packages'],
  ['src/service/d.ts', "import './e'; export const a = 1;", 'no cycles'],
  ['src/service/f.ts', "import 'long';", 'only declared packages'],
];

test('the import rules refuse what is against them, and nothing else', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-house-')));
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(folder, file));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, code] of [
    ...IMPORTED.map((one) => [one, 'export const a = 1;'] as const),
    BACK,
    ...FORBIDDEN,
  ]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${code}\n`);
  }
  const args = ['--config', join(ROOT, '.dependency-cruiser.cjs'), '--output-type', 'json', ...FOLDERS];
  const cruiser = join(ROOT, 'node_modules/.bin/depcruise');
  const { stdout } = spawnSync(process.execPath, [cruiser, ...args], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  const violations: Violation[] = JSON.parse(stdout).summary.violations;
  const refused = new Set(violations.map(({ from, rule }) => `${from}: ${rule.name}`));
  expect([...refused].sort()).toEqual(FORBIDDEN.map(([file, , rule]) => `${file}: ${rule}`).sort());
});

test('the environment is passed to the readers of src/config, and nowhere read variable by variable', () => {
  const sources = FOLDERS.flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(ROOT, top, file)),
  );
  // By name, by index or by destructuring; the whole object handed on is fine.
  const readsOne =
    /process\s*\.\s*env\s*(?:\?\.|[.[])|\}\s*(?::[^=;]*)?=\s*process\s*\.\s*env\b|from 'node:process'/;
  const readers = sources.filter((file) => readsOne.test(readFileSync(file, 'utf8')));
  expect(readers.map((file) => relative(ROOT, file))).toEqual([]);
  expect(sources.length).toBeGreaterThan(30);
});
