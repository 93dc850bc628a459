import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of this package. Compiled code runs in dist/src/config. */
export function packageFile(name: string): string {
  const [own = '', built = ''] = ['../..', '../../..'].map((root) => join(__dirname, root));
  return join(existsSync(join(own, 'package.json')) ? own : built, name);
}

/** This package's package.json. */
export function packageManifest(): { version: string } {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
}
