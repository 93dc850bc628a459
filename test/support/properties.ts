import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { SEED } from './seed';

fc.configureGlobal({ seed: createHash('sha256').update(SEED).digest().readInt32BE() });

/** fast-check with the seed of the run. A failed property prints how to repeat it. */
export { fc };
