import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageFile } from '../config/package-manifest';
import { ConfigError } from '../config/service-config';
import { inShell, jsonIn } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { EXIT, printLine, type Terminal } from './terminal';

/** What is written, from `examples/init`. */
const FILES = ['video-workflows.ts', 'video-worker.ts', 'make-video.ts', 'video.test.cjs', 'settings.env'];

const PACKAGES = ['client', 'common', 'envconfig', 'worker', 'workflow'].map((name) => `@temporalio/${name}`);

/** How the programs of a project are written. */
interface ProjectKind {
  isTypeScript: boolean;
  isEsModule: boolean;
}

/** `videogen init`: writes a worker, a workflow, a client and a test into a project. It never overwrites a file. */
export async function init(
  folder: string | undefined,
  _options: object,
  terminal: Terminal,
): Promise<number> {
  const project = folder ?? '.';
  const kind = await readKind(project);
  const sources = existsSync(join(project, 'src')) ? 'src' : '.';
  const extension = kind.isTypeScript ? 'ts' : 'js';
  for (const file of FILES) {
    const text = await readFile(packageFile(`examples/init/${file}`), 'utf8');
    const target = file === 'settings.env' ? '.env' : join(sources, file.replace(/ts$/, extension));
    const isNew = await writeNew(join(project, target), file.endsWith('.ts') ? writtenAs(kind, text) : text);
    printLine(terminal, isNew ? `Wrote ${target}` : `Kept  ${target}, which is there already`);
  }
  const here = folder === undefined ? '' : `cd ${inShell(folder)}\n  `;
  const programs = kind.isTypeScript ? 'DIST' : sources;
  const compiled = kind.isTypeScript ? ', where your compiler puts it' : '';
  const start = (file: string) => `node --env-file=.env ${join(programs, `${file}.js`)}`;
  printLine(
    terminal,
    `Next:
  ${here}npm install temporal-videogen ${PACKAGES.join(' ')}
  npm install --save-dev jest@30 @temporalio/testing${kind.isTypeScript ? ' typescript @types/node' : ''}
  npx jest ${join(sources, 'video.test.cjs')}   # a 429 and a lost submit, without a key
  npx videogen dev --port 7233   # Temporal and the emulator: export what it prints
  ${start('video-worker')}   # the worker${compiled}
  ${start('make-video')}   # the first poster
Keep .env out of Git: it is the place for keys.`,
  );
  return EXIT.ok;
}

async function readKind(project: string): Promise<ProjectKind> {
  const manifest = await readFile(join(project, 'package.json'), 'utf8').catch((error: unknown) => {
    throw new ConfigError(
      `${join(project, 'package.json')} cannot be read (${errorCode(error)}): run videogen init in your project, or npm init -y first.`,
    );
  });
  const parsed = jsonIn(manifest);
  if (typeof parsed !== 'object')
    throw new ConfigError(`${join(project, 'package.json')} is not a JSON object: correct it first.`);
  const isEsModule = Object(parsed).type === 'module';
  const config = await readFile(join(project, 'tsconfig.json'), 'utf8').catch(() => undefined);
  if (!isEsModule && /^\s*"verbatimModuleSyntax"\s*:\s*true/m.test(config ?? ''))
    throw new ConfigError(
      'With verbatimModuleSyntax in tsconfig.json, TypeScript allows no import statements in CommonJS: set "type": "module" in package.json, or remove that option.',
    );
  return { isTypeScript: config !== undefined, isEsModule };
}

/** The programs have no types of their own, so that they are JavaScript too. */
function writtenAs({ isTypeScript, isEsModule }: ProjectKind, text: string): string {
  if (isEsModule) {
    const path = "fileURLToPath(new URL('./video-workflows', import.meta.url))";
    const own = text.replace("require.resolve('./video-workflows')", path);
    return own === text ? text : `import { fileURLToPath } from 'node:url';\n${own}`;
  }
  if (isTypeScript) return text;
  const exported = [...text.matchAll(/^export async function (\w+)/gm)].map(([, name]) => name);
  const program = text
    .replace(/^import (\{.*\}) from (.*);$/gm, 'const $1 = require($2);')
    .replace(/^export /gm, '');
  return exported.length === 0 ? program : `${program}\nmodule.exports = { ${exported.join(', ')} };\n`;
}

/** False when something is there. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw new ConfigError(`${path} cannot be written (${errorCode(error)}).`);
  }
}
