import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface DatabaseSearch {
  /** The tables that each word was found in. */
  found: Record<string, string[]>;
  values: number;
  bytes: number;
}

/** Searches the database of a dev server, while it runs, for words in any form that a store gives them. */
export async function searchDatabase(path: string, words: readonly string[]): Promise<DatabaseSearch> {
  const script = join(__dirname, 'search-database.py');
  const { stdout } = await promisify(execFile)('python3', [script, path, ...words], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}
