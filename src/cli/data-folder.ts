import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const OURS_ALONE = { folder: 0o700, file: 0o600 };

/** What we and the server put there: requests are in it, with prompts and links. */
const OUR_FILES = /^(temporal\.(db|log)|stack\.|emulated-tasks\.)/;

/** The folder of the database, for this user alone. A folder that also has other things is left as it is. */
export async function makeDataFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: OURS_ALONE.folder });
  const names = await readdir(folder);
  // One that is somebody else's cannot be changed, and need not be.
  if (names.every((name) => OUR_FILES.test(name)))
    await chmod(folder, OURS_ALONE.folder).catch(() => undefined);
  await closeDataFiles(folder);
}

/** The server makes its files as readable as the system lets it. */
export async function closeDataFiles(folder: string): Promise<void> {
  for (const { name } of (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())) {
    // Some come and go.
    if (OUR_FILES.test(name)) await chmod(join(folder, name), OURS_ALONE.file).catch(() => undefined);
  }
}
