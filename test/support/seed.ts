import { randomBytes } from 'node:crypto';
import { atLength } from './nightly';

/** Of everything that a test leaves to chance: the same at each run of the suite, another one each night. */
export const SEED = process.env.VIDEOGEN_SEED || atLength('fox', randomBytes(4).toString('hex'));

/** What brings the same chances again; stands in the names of tests that take some. */
export const REPLAY = `VIDEOGEN_SEED=${SEED}`;
