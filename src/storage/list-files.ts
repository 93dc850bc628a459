import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { isPartName } from './part-files';
import type { ListedFile } from './storage';
import { storageFault } from './storage-fault';

/** The files whose keys begin with a prefix. A folder is read when its turn comes, so whoever stops early has read little. */
export async function* listFiles(root: string, prefix: string): AsyncGenerator<ListedFile, void, undefined> {
  const end = prefix.lastIndexOf('/') + 1;
  yield* filesOf(root, prefix.slice(0, end), prefix.slice(end));
}

/** `folder` is empty, or ends with a slash. */
async function* filesOf(
  root: string,
  folder: string,
  start: string,
): AsyncGenerator<ListedFile, void, undefined> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(unlessGone([]));
  const named = entries.filter(({ name }) => name.startsWith(start) && !isPartName(name));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of named) {
    if (entry.isDirectory()) yield* filesOf(root, `${folder}${entry.name}/`, '');
    if (!entry.isFile()) continue;
    const key = `${folder}${entry.name}`;
    const found = await stat(join(root, key)).catch(unlessGone(undefined));
    if (found) yield { key, storedAt: found.mtime };
  }
}

function unlessGone<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return instead;
    throw storageFault(error);
  };
}
