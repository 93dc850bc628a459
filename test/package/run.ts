import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

const start = promisify(execFile);

/** Runs a program until it ends. If it fails, the error has its output. */
export async function run(program: string, args: string[], { cwd, env }: Run) {
  const running = start(program, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  endWithParent(running.child);
  return await running.catch((cause) => {
    throw new Error(`${cause.message}${cause.stdout}`, { cause });
  });
}

/** Runs a tool of our node_modules. */
export const tool = (name: string, ...args: string[]) =>
  run(process.execPath, [join(ROOT, 'node_modules/.bin', name), ...args], { cwd: ROOT });
