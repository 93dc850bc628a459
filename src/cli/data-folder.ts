import { constants } from 'node:fs';
import { access, chmod, mkdir, readdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { ConfigError } from '../config/service-config';
import { errorCode } from '../contract/error-code';

const PRIVATE_MODES = { folder: 0o700, file: 0o600 };

/** Our files and the server's. They contain requests, with prompts and links. */
const OUR_FILES = /^(temporal\.(db|log)|stack\.|emulated-tasks\.)/;

/** Creates the data folder, private to this user. A folder with other files keeps its mode. */
export async function makeDataFolder(folder: string): Promise<void> {
  checkName(folder);
  const names = await openFolder(folder);
  // Fails for a folder of another user, whose mode is not ours to change.
  if (names.every((name) => OUR_FILES.test(name)))
    await chmod(folder, PRIVATE_MODES.folder).catch(() => undefined);
  await closeDataFiles(folder);
}

/** Throws what `makeDataFolder` would throw, but creates nothing. */
export async function checkDataFolder(folder: string): Promise<void> {
  checkName(folder);
  try {
    await checkWritable(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** Checks the folder, or the existing one that it would be created in. */
async function checkWritable(folder: string): Promise<void> {
  try {
    // The trailing dot makes this fail for a file.
    await access(`${folder}${sep}.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || folder === dirname(folder)) throw error;
    await checkWritable(dirname(folder));
  }
}

function checkName(folder: string): void {
  // The server parses its database path as an SQLite URI, but uses the folder unparsed, so escaping does not help.
  if (!/[?#%]/.test(folder)) return;
  throw new ConfigError(
    `The data folder ${folder} has ?, # or % in its path, which the Temporal dev server misreads: set VIDEOGEN_DATA to a folder without them.`,
  );
}

function unusable(folder: string, error: unknown): ConfigError {
  return new ConfigError(
    `The data folder ${folder} cannot be used (${errorCode(error)}): set VIDEOGEN_DATA to a folder you can write to.`,
  );
}

async function openFolder(folder: string): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_MODES.folder });
    return await readdir(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** The server creates its files with the default mode; this makes them private. */
export async function closeDataFiles(folder: string): Promise<void> {
  for (const { name } of (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())) {
    // Some files are temporary and may be gone.
    if (OUR_FILES.test(name)) await chmod(join(folder, name), PRIVATE_MODES.file).catch(() => undefined);
  }
}
