import { join } from 'node:path';

/** What Node runs as the process that inspects videos. Tests replace this file, because they run from the sources. */
export const INSPECT_ENTRY = [join(__dirname, 'inspect-process.js')];
