import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../..');

/** The folder of a project in which this package and those of the providers are installed. */
export function createProviderProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-project-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/temporal-videogen'));
  symlinkSync(join(ROOT, 'node_modules/@temporalio'), join(folder, 'node_modules/@temporalio'));
  symlinkSync(join(ROOT, 'test/ai-sdk/node_modules/@ai-sdk'), join(folder, 'node_modules/@ai-sdk'));
  return folder;
}

/** A program of the page as CommonJS. It has no types to take out. */
export const asCommonJs = (program: string): string =>
  program.replace(/^import (.*) from ('.*');$/gm, 'const $1 = require($2);');
