import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** This package's package.json. Compiled code runs in dist/src/config. */
export function packageManifest(): { version: string } {
  const paths = ['../..', '../../..'].map((root) => join(__dirname, root, 'package.json'));
  return JSON.parse(readFileSync(paths.find(existsSync) ?? '', 'utf8'));
}
