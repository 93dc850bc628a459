import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runToEnd } from './run';

const OPTIONS = {
  module: 'node20',
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
  pretty: false,
};

/** Our compilers by their folder in node_modules. The second also shows what users of TypeScript 6 get. */
export type Compiler = 'typescript-7' | 'typescript';

/**
 * Compiles the programs in these folders of a project in place, and returns the errors in them and in our declarations. One
 * run for all folders, because the types of the packages take most of the time.
 */
export async function compile(
  host: string,
  folders: readonly string[],
  compiler: Compiler,
): Promise<string[]> {
  const config = join(host, 'tsconfig.json');
  const include = folders.map((folder) => `${folder}/*.ts`);
  await writeFile(config, JSON.stringify({ compilerOptions: OPTIONS, include }));
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  const { stdout, stderr } = await runToEnd(process.execPath, [tsc, '-p', config], { cwd: host });
  if (stderr !== '') throw new Error(`${tsc} failed:\n${stderr}`);
  return stdout.split('\n').filter(isOurs);
}

/** We cannot fix declarations of other packages: Temporal's import a module `ms` without types. */
function isOurs(line: string): boolean {
  const isOfOthers = /^node_modules\/(?!temporal-videogen\/(?!node_modules\/))/.test(line);
  // Further lines of a message are indented.
  return line !== '' && !line.startsWith(' ') && !isOfOthers;
}
