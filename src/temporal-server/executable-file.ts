import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

const SUFFIX = process.platform === 'win32' ? '.exe' : '';

export function executableName(name: string): string {
  return `${name}${SUFFIX}`;
}

/** Why a file cannot be run, or undefined when it can. */
export async function whyNotExecutable(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return 'does not exist';
  if (!found.isFile()) return 'is not a file';
  const allowed = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return allowed ? undefined : 'is not executable';
}

export async function isExecutableFile(path: string): Promise<boolean> {
  return (await whyNotExecutable(path)) === undefined;
}

/** Looks a program up as a shell would, except in relative folders: those would run whatever lies in the current one. */
export async function findOnSearchPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, executableName(name));
    if (await isExecutableFile(candidate)) return candidate;
  }
  return undefined;
}

export async function requireOnSearchPath(name: string, searchPath?: string): Promise<string> {
  const found = await findOnSearchPath(name, searchPath);
  if (found === undefined) throw new Error(`there is no \`${name}\` on the search path`);
  return found;
}
