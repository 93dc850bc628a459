import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

const SUFFIX = process.platform === 'win32' ? '.exe' : '';

export function executableName(name: string): string {
  return `${name}${SUFFIX}`;
}

/** Says why a file cannot be executed; undefined if it can. */
export async function whyNotExecutable(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return 'does not exist';
  if (!stats.isFile()) return 'is not a file';
  const allowed = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return allowed ? undefined : 'is not executable';
}

export async function isExecutableFile(path: string): Promise<boolean> {
  return (await whyNotExecutable(path)) === undefined;
}

/** Searches PATH as a shell does, but skips relative folders, which would run files of the current folder. */
export async function findOnSearchPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, executableName(name));
    if (await isExecutableFile(candidate)) return candidate;
  }
  return undefined;
}
