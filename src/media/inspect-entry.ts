import { join } from 'node:path';

/** What Node is to run as a process that looks at videos. Tests, which run the sources, have a file in place of this one. */
export const INSPECT_ENTRY = [join(__dirname, 'inspect-process.js')];
