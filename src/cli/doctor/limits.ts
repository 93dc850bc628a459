/** For one check. At most three wait for one another, so all checks take at most 15 s. */
export const CHECK_LIMIT_MS = 5_000;

/** For one call in a check. It is shorter, because a failed call says more than a check that timed out. */
export const CALL_LIMIT_MS = 4_000;
