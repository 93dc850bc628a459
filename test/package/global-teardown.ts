import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** Takes away what the global setup left. */
// biome-ignore lint/style/noDefaultExport: jest takes the default export of this file.
export default async function globalTeardown(): Promise<void> {
  const tarball = process.env.VIDEOGEN_TEST_TARBALL;
  if (tarball) rmSync(dirname(tarball), { recursive: true, force: true });
}
