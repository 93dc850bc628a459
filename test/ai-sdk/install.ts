import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../package/run';

const LOCK = join(__dirname, 'package-lock.json');
/** Has the hash of the lock file that node_modules was installed from. */
const STAMP = join(__dirname, 'node_modules/.installed-from');

/** Installs the packages of the AI SDK from npm, unless they are there: 5 seconds, the first time. */
export async function installPackages(): Promise<void> {
  const wanted = createHash('sha256')
    .update(await readFile(LOCK))
    .digest('hex');
  const installed = await readFile(STAMP, 'utf8').catch(() => undefined);
  if (installed === wanted) return;
  // They say Node 22 and run on 20.19, which can require ES modules: a warning would be for nobody.
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
  await run('npm', ['ci', '--prefix', __dirname, ...quietly], { cwd: __dirname });
  await writeFile(STAMP, wanted);
}
