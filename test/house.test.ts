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
const CRUISER = join(ROOT, 'node_modules/.bin/depcruise');
const FOLDERS = ['src', 'workflows', 'activities'];

interface Violation {
  from: string;
  to: string;
  rule: { name: string };
}

function violationsIn(folder: string): Violation[] {
  const config = join(ROOT, '.dependency-cruiser.cjs');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [CRUISER, '--config', config, '--output-type', 'json', ...FOLDERS],
    { cwd: folder, encoding: 'utf8', maxBuffer: 100 * 1024 * 1024 },
  );
  if (!stdout.startsWith('{')) throw new Error(`dependency-cruiser did not run: ${stderr}${stdout}`);
  return JSON.parse(stdout).summary.violations;
}

/** What the files below import. That the rules allow what we do is the business of `npm run lint`, which `npm test` runs first. */
const IMPORTED = [
  ...['src/contract/request.ts', 'src/service/index.ts', 'src/storage/index.ts', 'src/worker/index.ts'],
  ...['src/gateway/index.ts', 'src/cli/index.ts', 'workflows/index.ts', 'activities/index.ts'],
  'test/world.ts',
];

/** Imports that are forbidden in a file, by the rule that refuses them: one for each kind of rule. */
const FORBIDDEN: Record<string, [file: string, code: string][]> = {
  'house: src/contract/': [
    ['src/contract/bad-service.ts', "import '../service';"],
    ['src/contract/bad-type.ts', "import type { a } from '../service'; export type A = typeof a;"],
  ],
  'house: src/service/': [['src/service/bad-storage.ts', "import '../storage';"]],
  'house: activities/': [['activities/bad-workflows.ts', "import '../workflows';"]],
  'house: workflows/': [['workflows/bad-storage.ts', "import '../src/storage';"]],
  'house: workflows/ (types of activities/ only)': [
    ['workflows/bad-activities.ts', "import '../activities';"],
    ['workflows/bad-both.ts', "import type { A } from '../activities'; export { b } from '../activities';"],
    ['workflows/bad-dynamic.ts', "export const a = import('../activities');"],
  ],
  'house: src/testing/(?!index|test-environment)': [['src/testing/bad-service.ts', "import '../service';"]],
  'house: src/[^/]+[.]ts$': [['src/bad-cli.ts', "import './cli';"]],
  'house: src/gateway/page/': [['src/gateway/page/bad-gateway.mjs', "import '../index';"]],
  'house: src/gateway/': [['src/gateway/bad-worker.ts', "import '../worker';"]],
  'house: src/cli/': [['src/cli/bad-test.ts', "import '../../test/world';"]],
  'house: no other rooms': [['src/utils/bad-room.ts', "import '../service';"]],
  'sandbox: no zod': [
    ['workflows/bad-request.ts', "import '../src/contract/request';"],
    ['src/contract/bad-request.ts', "import './request';"],
  ],
  'sandbox: no packages but the workflow SDK and a pure digest': [
    ['workflows/bad-client.ts', "import '@temporalio/client';"],
    ['src/contract/bad-zod.ts', "import 'zod';"],
  ],
  'sandbox: no Node built-ins': [
    ['workflows/bad-crypto.ts', "import 'crypto';"],
    ['src/contract/bad-fs.ts', "import 'node:fs/promises';"],
  ],
  'client: not the worker SDK': [['src/client/bad-sdk.ts', "import '@temporalio/worker';"]],
  'nothing unresolved': [['src/service/bad-missing.ts', "import './not-there';"]],
  'only declared packages': [
    ['src/service/bad-dev.ts', "import 'typescript';"],
    ['src/service/bad-undeclared.ts', "import 'long';"],
  ],
};

const CYCLE = {
  'src/service/there.ts': "import './back'; export const a = 1;",
  'src/service/back.ts': "import './there'; export const a = 1;",
};

describe('the import rules', () => {
  let violations: Violation[];

  beforeAll(() => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-house-')));
    try {
      for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(folder, file));
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      const fine = IMPORTED.map((file) => [file, 'export const a = 1;'] as const);
      const bad = [...Object.values(FORBIDDEN).flat(), ...Object.entries(CYCLE)];
      for (const [file, code] of [...fine, ...bad]) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), `${code}\n`);
      }
      violations = violationsIn(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const refusalsOf = (file: string) =>
    violations.filter(({ from }) => from === file).map(({ rule: { name } }) => name);

  it.each(Object.entries(FORBIDDEN))('%s refuses what is against it', (rule, files) => {
    for (const [file] of files) expect([file, new Set(refusalsOf(file))]).toEqual([file, new Set([rule])]);
  });

  it('refuse two files that import each other', () => {
    const cycles = violations
      .filter(({ rule }) => rule.name === 'no cycles')
      .flatMap(({ from, to }) => [from, to]);
    expect(new Set(cycles)).toEqual(new Set(Object.keys(CYCLE)));
  });

  it('find nothing wrong with the others', () => {
    for (const file of IMPORTED) expect([file, refusalsOf(file)]).toEqual([file, []]);
  });
});

describe('the environment', () => {
  const sources = FOLDERS.flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(ROOT, top, file)),
  );
  /** One variable taken out, by name, by index or by destructuring; the whole object handed on is fine. */
  const READS_ONE =
    /process\s*\.\s*env\s*(?:\?\.|[.[])|\}\s*(?::[^=;]*)?=\s*process\s*\.\s*env\b|from 'node:process'/;

  test('is passed to the readers of src/config, and nowhere read variable by variable', () => {
    const readers = sources.filter((file) => READS_ONE.test(readFileSync(file, 'utf8')));
    expect(readers.map((file) => relative(ROOT, file))).toEqual([]);
    expect(sources.length).toBeGreaterThan(30);
  });

  test('in a source is found when one variable is read, and not when the whole is handed on', () => {
    for (const code of [
      'process.env.HOME',
      "process.env['HOME']",
      'process.env?.HOME',
      'const { HOME } = process.env;',
    ])
      expect(code).toMatch(READS_ONE);
    for (const code of [
      'function read(env: Environment = process.env) {}',
      'const { env = process.env } = options;',
      'spawn(go, { env: { ...process.env, ...more } })',
    ])
      expect(code).not.toMatch(READS_ONE);
  });
});
