import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** Deletes the bundle of the global setup. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalTeardown(): Promise<void> {
  const bundle = process.env.VIDEOGEN_TEST_BUNDLE;
  if (bundle) rmSync(dirname(bundle), { recursive: true, force: true });
}
