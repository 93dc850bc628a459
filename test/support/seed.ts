import { randomBytes } from 'node:crypto';
import { atLength } from './nightly';

/** The seed of all randomness in the tests: the same in each run of the suite, a new one in each nightly run. */
export const SEED = process.env.VIDEOGEN_SEED || atLength('fox', randomBytes(4).toString('hex'));

/** How to repeat a run; part of the names of tests that use randomness. */
export const REPLAY = `${atLength('', 'VIDEOGEN_NIGHTLY=1 ')}VIDEOGEN_SEED=${SEED}`;
