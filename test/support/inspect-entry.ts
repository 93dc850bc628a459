import { join } from 'node:path';

/** Replaces src/media/inspect-entry.ts: the process that inspects videos runs from the sources, like the tests. */
export const INSPECT_ENTRY = [
  '--require',
  join(__dirname, 'run-typescript.cjs'),
  join(__dirname, '../../src/media/inspect-process.ts'),
];
