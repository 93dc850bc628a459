import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** All files in a storage folder, complete or partial, except the records of jobs, which `recordsIn` lists. */
export async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => !isRecord(name));
}

/** The entries of the records of jobs, and after them the claims of tasks. */
export async function recordsIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .filter(isRecord)
    .sort();
}

const isRecord = (name: string) => ['jobs', 'tasks'].includes(name.split(sep)[0] ?? '');
