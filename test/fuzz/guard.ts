import { AsyncLocalStorage } from 'node:async_hooks';
import * as childProcess from 'node:child_process';
import * as fs from 'node:fs';
import { Socket } from 'node:net';
import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Functions that write, and which of their arguments is the file. */
const WRITERS: Record<string, number> = {
  ...{ writeFile: 0, appendFile: 0, mkdir: 0, mkdtemp: 0, rm: 0, rmdir: 0, unlink: 0, truncate: 0, chmod: 0 },
  ...{ rename: 1, link: 1, symlink: 1, copyFile: 1, cp: 1, createWriteStream: 0 },
};
const OPENERS = ['open', 'openSync'];
const STARTERS = ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'];

/** The test runner compiles modules there when they are loaded. */
const CACHE = join(__dirname, '../../node_modules/.cache');

/** A process runs many test files, and a client that one of them has closed may try to connect once more. */
const guardedRun = new AsyncLocalStorage<object>();

type Callable = (...args: unknown[]) => unknown;

export interface GuardOptions {
  folder: string;
  connects: boolean;
}

/**
 * Runs something while nothing can be written outside a folder, and nothing sent or started unless that is allowed. Returns
 * what was tried; each such call has failed.
 */
export async function guarded<T>(
  { folder, connects }: GuardOptions,
  work: () => Promise<T>,
): Promise<{ outcome: PromiseSettledResult<T>; tried: string[]; warnings: string[] }> {
  const tried: string[] = [];
  const warnings: string[] = [];
  const undo: (() => void)[] = [];
  const replace = (holder: object, name: string, wrap: (actual: Callable) => Callable) => {
    const actual: unknown = Reflect.get(holder, name);
    if (typeof actual !== 'function') return;
    Reflect.set(holder, name, wrap(actual as Callable));
    undo.push(() => Reflect.set(holder, name, actual));
  };
  const refuse = (what: string): never => {
    tried.push(what);
    throw Object.assign(new Error(`EPERM: ${what}`), { code: 'EPERM' });
  };
  const check = (name: string, path: unknown) => {
    if (!isInside(path, folder) && !isInside(path, CACHE))
      refuse(`${name} outside the folder: ${String(path)}`);
  };
  const guardAt = (name: string, index: number) => (actual: Callable) =>
    function (this: unknown, ...args: unknown[]) {
      check(name, args[index]);
      return actual.apply(this, args);
    };
  for (const [name, index] of Object.entries(WRITERS)) {
    replace(fs, name, guardAt(name, index));
    replace(fs, `${name}Sync`, guardAt(name, index));
    replace(
      fs.promises,
      name,
      (actual) =>
        async (...args) =>
          guardAt(name, index)(actual)(...args),
    );
  }
  for (const holder of [fs, fs.promises]) {
    for (const name of OPENERS) {
      replace(holder, name, (actual) => (...args) => {
        const [path, flags] = args;
        const isRead =
          flags === undefined || flags === 'r' || typeof flags === 'function' || isReadOnly(flags);
        if (!isRead) check(name, path);
        return actual(...args);
      });
    }
  }
  if (!connects) {
    for (const name of STARTERS) replace(childProcess, name, () => () => refuse(`${name} of a process`));
    replace(Socket.prototype, 'connect', (actual) => {
      return function (this: unknown, ...args: unknown[]) {
        return guardedRun.getStore() === tried ? refuse('a connection') : actual.apply(this, args);
      };
    });
  }
  replace(process, 'emitWarning', () => (warning) => void warnings.push(String(warning)));
  try {
    const [outcome] = await guardedRun.run(tried, () => Promise.allSettled([work()]));
    return { outcome: outcome as PromiseSettledResult<T>, tried, warnings };
  } finally {
    for (const one of undo) one();
  }
}

function isReadOnly(flags: unknown): boolean {
  return (
    typeof flags === 'number' &&
    (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) === 0
  );
}

function isInside(path: unknown, folder: string): boolean {
  if (typeof path === 'number') return true;
  const file = path instanceof URL ? fileURLToPath(path) : String(path);
  return resolve(file) === folder || resolve(file).startsWith(folder + sep);
}
