import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** Deletes the package of the global setup. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalTeardown(): Promise<void> {
  const tarball = process.env.VIDEOGEN_TEST_TARBALL;
  if (tarball) rmSync(dirname(tarball), { recursive: true, force: true });
}
