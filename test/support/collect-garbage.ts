import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Frees what nobody holds any more, so that what is measured next is what somebody does. */
export const collectGarbage: () => void = runInNewContext('gc');
