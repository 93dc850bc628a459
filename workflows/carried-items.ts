import type { CarriedItem } from '../src/contract/batch';
import { CARRIED_TEXT_BYTES, LONGEST_CARRIED_TEXT_BYTES } from '../src/contract/policies';
import type { JobState } from './job-state';

/** Numbers, task ids and some words: whatever the requests are and the service says, it stays below 1 MiB. */
export function carriedItems(running: ReadonlyMap<number, JobState>): CarriedItem[] {
  const share = Math.floor(CARRIED_TEXT_BYTES / Math.max(1, running.size));
  const longestText = Math.min(LONGEST_CARRIED_TEXT_BYTES, share);
  return [...running].map(([item, job]) => ({ item, job: job.carry(longestText) }));
}
