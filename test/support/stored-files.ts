import { readdir } from 'node:fs/promises';
import { sep } from 'node:path';

/** All that lies in a storage folder, whole or not, but for the records of jobs: those are listed by `recordsIn`. */
export async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => !isOfRecords(name));
}

/** The records of jobs. */
export async function recordsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => isOfRecords(name) && name !== 'jobs');
}

const isOfRecords = (name: string) => name.split(sep)[0] === 'jobs';
