import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Frees unreachable memory, so that the next measurement counts only what is in use. */
export const collectGarbage: () => void = runInNewContext('gc');
