import { join } from 'node:path';

/** In place of src/media/look-entry.ts: the process that looks at videos runs from the sources, as the tests do. */
export const LOOK_ENTRY = [
  '--require',
  join(__dirname, 'run-typescript.cjs'),
  join(__dirname, '../../src/media/look-process.ts'),
];
