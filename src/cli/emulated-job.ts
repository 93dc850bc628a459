/** How long a generation takes in an emulator that a command starts. Short, for a quick first run. */
export const EMULATED_JOB_MS = 1_000;
