import type { Case } from './targets';

/** What was found once. `npm run fuzz` prints a finding as a case to paste here. */
export const CASES: Case[] = [];
