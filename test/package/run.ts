import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { endWithParent } from '../../src/temporal-server/child-process';

export const ROOT = join(__dirname, '../..');

/** The package that the global setup packed. */
export const tarball = (): string => {
  const file = process.env.VIDEOGEN_TEST_TARBALL;
  if (file === undefined)
    throw new Error('Nothing was packed: run these tests as the jest project "package".');
  return file;
};

export interface Run {
  cwd: string;
  env?: Record<string, string>;
}

/** Runs a program until it ends, with any exit code. */
export async function runToEnd(program: string, args: string[], { cwd, env }: Run) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithParent(child);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** Runs a program until it ends. If it fails, the error has its output. */
export async function run(program: string, args: string[], options: Run) {
  const { code, stdout, stderr } = await runToEnd(program, args, options);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return { stdout, stderr };
}

/** Runs a tool of our node_modules. */
export const tool = (name: string, ...args: string[]) =>
  run(process.execPath, [join(ROOT, 'node_modules/.bin', name), ...args], { cwd: ROOT });
