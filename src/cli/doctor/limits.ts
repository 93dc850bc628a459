/** For one check. Three wait for one another at most, so that the whole takes 15 s at the worst. */
export const CHECK_LIMIT_MS = 5_000;

/** For one call within a check: it says more of what is wrong than a check that is cut off. */
export const CALL_LIMIT_MS = 4_000;
