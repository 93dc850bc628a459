import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PACKAGE = 'temporal-videogen';

/** The package's folder. Compiled code runs in dist/src. */
export function packageRoot(from = __dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (manifestIn(folder).name === PACKAGE) return folder;
    if (folder === dirname(folder)) {
      throw new Error(`No package.json of ${PACKAGE} was found above ${from}: reinstall the package.`);
    }
  }
}

/** The version that `videogen --version` prints. */
export function packageVersion(): string {
  return String(manifestIn(packageRoot()).version);
}

/** The versions of Node that the package runs on, such as `>=20.18.1`. */
export function nodeRange(): string {
  return String(manifestIn(packageRoot()).engines?.node);
}

function manifestIn(folder: string): { name?: unknown; version?: unknown; engines?: { node?: unknown } } {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}
