import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServerOptions } from '../../src/config/temporal-config';
import { findDevServer } from '../../src/temporal-server';
import { ROOT, run } from './run';

/** Packs the build once for all test files, and finds Temporal's server. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalSetup(): Promise<void> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  process.env.VIDEOGEN_TEMPORAL_CLI = await findDevServer({ ...readServerOptions(process.env), onProgress });
  const folder = mkdtempSync(join(tmpdir(), 'videogen-package-'));
  // Without scripts, because `prepack` would delete dist while other tests use it.
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  process.env.VIDEOGEN_TEST_TARBALL = join(folder, stdout.trim());
}
