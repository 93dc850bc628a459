import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspectFile, type VideoInspection } from '../../src/media';

/** Inspects these bytes as a file. */
export async function inspect(file: Buffer | string, folder = tmpdir()): Promise<VideoInspection> {
  const path = join(folder, `inspected-${randomUUID()}`);
  await writeFile(path, file);
  return inspectFile(path).finally(() => rm(path));
}
