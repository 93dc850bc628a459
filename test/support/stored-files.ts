import { readdir } from 'node:fs/promises';
import { sep } from 'node:path';

/** All files in a storage folder, complete or partial, except the records of jobs, which `recordsIn` lists. */
export async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => !isRecord(name));
}

/** The records of jobs. */
export async function recordsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => isRecord(name) && name !== 'jobs');
}

const isRecord = (name: string) => name.split(sep)[0] === 'jobs';
