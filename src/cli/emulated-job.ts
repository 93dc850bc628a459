/** How long a generation takes in an emulator that a command starts: short, so that the first minute is one. */
export const EMULATED_JOB_MS = 3_000;
