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

/** Files that follow the rules, at least one for each folder. */
const ALLOWED: Record<string, string> = {
  'src/contract/words.ts': "import type { Request } from './request'; export type Words = Request;",
  'src/contract/request.ts':
    "import { z } from 'zod'; export const a = z.string(); export type Request = string;",
  'src/contract/job-input.ts':
    "import { a } from './request'; import { z } from 'zod'; export const b = [a, z];",
  'src/service/index.ts':
    "import { fetch } from 'undici'; import '../contract/request'; export const a = fetch;",
  'src/storage/index.ts':
    "import { open } from 'node:fs'; import '../contract/request'; export const a = open;",
  'src/media/index.ts': "import '../contract/words'; export const a = 1;",
  'workflows/index.ts':
    "import { sleep } from '@temporalio/workflow'; import '../src/contract/words'; import './order'; export const a = sleep;",
  'workflows/order.ts':
    "import type { Activities } from '../activities'; import type { Request } from '../src/contract/request';" +
    "import type { Words } from '../src/contract/words'; export type Order = [Activities, Request, Words];",
  'activities/index.ts':
    "import '../src/contract/request'; import '../src/service'; import '../src/storage'; import '../src/media';" +
    'export type Activities = number;',
  'src/testing/emulator.ts': "import '../contract/words'; export const a = 1;",
  'src/temporal-server/index.ts': "import '../contract/words'; export const a = 1;",
  'src/config/service-config.ts':
    "import '../service'; import '../temporal-server'; import type { Activities } from '../../activities'; export type A = Activities;",
  'src/client/index.ts': "import '../config/service-config'; import '../contract/words'; export const a = 1;",
  'src/worker/index.ts':
    "import '../../activities'; import '../../workflows'; import '../client'; import '../nexus'; import '../config/service-config'; export const a = 1;",
  'src/nexus.ts': "import './contract/words'; export const a = 1;",
  'src/ai-sdk/index.ts': "import '../client'; import '../storage'; export const a = 1;",
  'src/worker/monitor.ts': "import '../config/service-config'; export const a = 1;",
  'src/gateway/index.ts':
    "import '../config/service-config'; import '../client'; import '../worker/monitor'; export const a = 1;",
  'src/gateway/page/page.mjs': "import './form.mjs';",
  'src/gateway/page/form.mjs': 'export const a = 1;',
  'src/cli/index.ts':
    "import '../worker'; import '../gateway'; import '../testing/emulator'; import '../../workflows';",
  'src/testing/index.ts': "import './emulator'; import '../worker'; export const a = 1;",
  'test/world.ts': 'export const a = 1;',
};

/** Files with one forbidden import, and the rule that refuses it. */
const FORBIDDEN: [rule: string, file: string, code: string][] = [
  ['house: src/contract/', 'src/contract/bad-service.ts', "import '../service';"],
  [
    'house: src/contract/',
    'src/contract/bad-type.ts',
    "import type { a } from '../service'; export type A = typeof a;",
  ],
  ['house: src/contract/', 'src/contract/bad-door.ts', "import '../config/service-config';"],
  ['house: src/service/', 'src/service/bad-storage.ts', "import '../storage';"],
  ['house: src/service/', 'src/service/bad-activities.ts', "import '../../activities';"],
  ['house: src/storage/', 'src/storage/bad-service.ts', "import '../service';"],
  ['house: src/storage/', 'src/storage/bad-config.ts', "import '../config/service-config';"],
  ['house: src/media/', 'src/media/bad-storage.ts', "import '../storage';"],
  ['house: workflows/', 'workflows/bad-service.ts', "import '../src/service';"],
  [
    'house: workflows/',
    'workflows/bad-storage.ts',
    "import type { a } from '../src/storage'; export type A = typeof a;",
  ],
  ['house: workflows/', 'workflows/bad-config.ts', "import '../src/config/service-config';"],
  ['house: workflows/ (types of activities/ only)', 'workflows/bad-activities.ts', "import '../activities';"],
  [
    'house: workflows/ (types of activities/ only)',
    'workflows/bad-both.ts',
    "import type { Activities } from '../activities'; import * as all from '../activities'; export const a: Activities = Number(all);",
  ],
  [
    'house: workflows/ (types of activities/ only)',
    'workflows/bad-re-export.ts',
    "export * from '../activities';",
  ],
  [
    'house: workflows/ (types of activities/ only)',
    'workflows/bad-dynamic.ts',
    "export const a = import('../activities');",
  ],
  ['house: activities/', 'activities/bad-workflows.ts', "import '../workflows';"],
  ['house: activities/', 'activities/bad-config.ts', "import '../src/config/service-config';"],
  ['house: activities/', 'activities/bad-emulator.ts', "import '../src/testing/emulator';"],
  ['house: src/testing/(?!index|test-environment)', 'src/testing/bad-service.ts', "import '../service';"],
  ['house: src/temporal-server/', 'src/temporal-server/bad-service.ts', "import '../service';"],
  ['house: src/temporal-server/', 'src/temporal-server/bad-config.ts', "import '../config/service-config';"],
  ['house: src/[^/]+[.]ts$', 'src/bad-cli.ts', "import './cli';"],
  ['house: src/[^/]+[.]ts$', 'src/bad-gateway.ts', "import './gateway';"],
  ['house: src/[^/]+[.]ts$', 'src/bad-test.ts', "import '../test/world';"],
  ['house: src/config/', 'src/config/bad-client.ts', "import '../client';"],
  ['house: src/config/ (types of activities/ only)', 'src/config/bad-work.ts', "import '../../activities';"],
  ['house: src/client/', 'src/client/bad-worker.ts', "import '../worker';"],
  ['house: src/worker/', 'src/worker/bad-gateway.ts', "import '../gateway';"],
  ['house: src/worker/', 'src/worker/bad-emulator.ts', "import '../testing/emulator';"],
  ['house: src/gateway/', 'src/gateway/bad-worker.ts', "import '../worker';"],
  ['house: src/gateway/page/', 'src/gateway/page/bad-gateway.mjs', "import '../index';"],
  ['house: src/cli/', 'src/cli/bad-test.ts', "import '../../test/world';"],
  ['house: no other rooms', 'src/utils/bad-room.ts', "import '../service';"],
  ['sandbox: no zod', 'workflows/bad-request.ts', "import '../src/contract/request';"],
  ['sandbox: no zod', 'src/contract/bad-request.ts', "import './request';"],
  ['sandbox: no packages but the workflow SDK and a pure digest', 'workflows/bad-zod.ts', "import 'zod';"],
  [
    'sandbox: no packages but the workflow SDK and a pure digest',
    'workflows/bad-client.ts',
    "import '@temporalio/client';",
  ],
  ['sandbox: no packages but the workflow SDK and a pure digest', 'src/contract/bad-zod.ts', "import 'zod';"],
  ['sandbox: no Node built-ins', 'workflows/bad-fs.ts', "import 'node:fs';"],
  ['sandbox: no Node built-ins', 'workflows/bad-crypto.ts', "import 'crypto';"],
  ['sandbox: no Node built-ins', 'src/worker/host-and-own.ts', "import 'node:fs';"],
  ['sandbox: no Node built-ins', 'src/contract/bad-fs.ts', "import 'node:fs/promises';"],
  ['client: not the worker SDK', 'src/client/bad-sdk.ts', "import '@temporalio/worker';"],
  ['nothing unresolved', 'src/service/bad-missing.ts', "import './not-there';"],
  ['only declared packages', 'src/service/bad-dev.ts', "import 'typescript';"],
  ['only declared packages', 'src/service/bad-undeclared.ts', "import 'long';"],
];

const CYCLE = {
  'src/service/there.ts': "import './back'; export const a = 1;",
  'src/service/back.ts': "import './there'; export const a = 1;",
};

// That the repository follows them is the business of `npm run lint`, which `npm test` runs first.
describe('the import rules', () => {
  let violations: Violation[];

  beforeAll(() => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-house-')));
    try {
      for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(folder, file));
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      const bad = FORBIDDEN.map(([, file, code]) => [file, code] as const);
      for (const [file, code] of [...Object.entries({ ...ALLOWED, ...CYCLE }), ...bad]) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), `${code}\n`);
      }
      violations = violationsIn(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each(FORBIDDEN)('%s refuses %s: %s', (rule, file) => {
    const refusals = violations.filter(({ from }) => from === file).map(({ rule: { name } }) => name);
    expect([...new Set(refusals)]).toEqual([rule]);
  });

  it('refuse two files that import each other', () => {
    const cycles = violations
      .filter(({ rule }) => rule.name === 'no cycles')
      .flatMap(({ from, to }) => [from, to]);
    expect(new Set(cycles)).toEqual(new Set(Object.keys(CYCLE)));
  });

  it.each(Object.keys(ALLOWED))('allow the imports of %s', (file) => {
    expect(violations.filter(({ from }) => from === file)).toEqual([]);
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

  test.each([
    ['process.env.HOME', true],
    ["process.env['HOME']", true],
    ['process.env?.HOME', true],
    ['const { HOME } = process.env;', true],
    ['function read(env: Environment = process.env) {}', false],
    ['const { env = process.env } = options;', false],
    ['spawn(go, { env: { ...process.env, ...more } })', false],
  ])('in %j is one variable read: %s', (code, isRead) => {
    expect(READS_ONE.test(code)).toBe(isRead);
  });
});
