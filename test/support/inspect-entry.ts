import { join } from 'node:path';

/** In place of src/media/inspect-entry.ts: the process that looks at videos runs from the sources, as the tests do. */
export const INSPECT_ENTRY = [
  '--require',
  join(__dirname, 'run-typescript.cjs'),
  join(__dirname, '../../src/media/inspect-process.ts'),
];
