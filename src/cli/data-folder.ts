import { constants } from 'node:fs';
import { access, chmod, mkdir, readdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { ConfigError } from '../config/service-config';
import { errorCode } from '../contract/errors';

const OURS_ALONE = { folder: 0o700, file: 0o600 };

/** What we and the server put there: requests are in it, with prompts and links. */
const OUR_FILES = /^(temporal\.(db|log)|stack\.|emulated-tasks\.)/;

/** The folder of the database, for this user alone. A folder that also has other things is left as it is. */
export async function makeDataFolder(folder: string): Promise<void> {
  checkName(folder);
  const names = await openFolder(folder);
  // One that is somebody else's cannot be changed, and need not be.
  if (names.every((name) => OUR_FILES.test(name)))
    await chmod(folder, OURS_ALONE.folder).catch(() => undefined);
  await closeDataFiles(folder);
}

/** Says what would keep `makeDataFolder` from it, and makes nothing. */
export async function checkDataFolder(folder: string): Promise<void> {
  checkName(folder);
  try {
    await checkWritable(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** The folder itself, or the one that it would be made in. */
async function checkWritable(folder: string): Promise<void> {
  try {
    // Fails for a file, which has nothing inside.
    await access(`${folder}${sep}.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || folder === dirname(folder)) throw error;
    await checkWritable(dirname(folder));
  }
}

function checkName(folder: string): void {
  // The server reads the name of its database as an SQLite URI, but looks for its folder as it stands: no escape helps.
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
    await mkdir(folder, { recursive: true, mode: OURS_ALONE.folder });
    return await readdir(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** The server makes its files as readable as the system lets it. */
export async function closeDataFiles(folder: string): Promise<void> {
  for (const { name } of (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())) {
    // Some come and go.
    if (OUR_FILES.test(name)) await chmod(join(folder, name), OURS_ALONE.file).catch(() => undefined);
  }
}
