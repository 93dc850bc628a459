import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../contract/error-code';
import { isPartName } from './part-files';
import { storageFault } from './storage-fault';

/** The keys that begin with a prefix. A folder is read when its turn comes, so whoever stops early has read little. */
export async function* listFiles(root: string, prefix: string): AsyncGenerator<string, void, undefined> {
  const end = prefix.lastIndexOf('/') + 1;
  yield* filesOf(root, prefix.slice(0, end), prefix.slice(end));
}

/** `folder` is empty, or ends with a slash. */
async function* filesOf(
  root: string,
  folder: string,
  start: string,
): AsyncGenerator<string, void, undefined> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    throw storageFault(error);
  });
  const named = entries.filter(({ name }) => name.startsWith(start) && !isPartName(name));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of named) {
    if (entry.isDirectory()) yield* filesOf(root, `${folder}${entry.name}/`, '');
    else if (entry.isFile()) yield `${folder}${entry.name}`;
  }
}
