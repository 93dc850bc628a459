import { text } from 'node:stream/consumers';
import type { Environment } from '../config/service-config';
import { type BatchResult, doneBefore, type ItemResult, parseResults } from '../contract/batch';
import { shown } from '../contract/clean-text';
import { describeBatchCost } from '../contract/job-cost';
import { openStored } from './copy-out';

/** The results file lists them all. */
const MAX_FAILURES_SHOWN = 10;

/** How a batch ended, and why its items failed. */
export async function summaryLines(result: BatchResult, env: Environment): Promise<string[]> {
  const { items, succeeded, failed, cost } = result;
  const stored = `Stored ${succeeded} of ${items} videos`;
  const costs = cost ? [`Cost: ${describeBatchCost(cost)}.`] : [];
  if (failed === 0) return [`${stored}.`, ...costs];
  const results = await readResults(result, env);
  const failures = results.flatMap((line) =>
    line.outcome === 'failed' ? [`  ${line.item}: ${shown(line.message)}`] : [],
  );
  const more = failures.splice(MAX_FAILURES_SHOWN).length;
  const retryable = results.length > 0 ? failed - doneBefore(results).failed : 0;
  return [
    `${stored}, ${failed} failed${failures.length > 0 ? ':' : '.'}`,
    ...failures,
    ...(more > 0 ? [`  and ${more} more, listed in the results`] : []),
    ...costs,
    ...(retryable > 0
      ? [`Run the command again to retry ${retryable === failed ? 'them' : `${retryable} of them`}.`]
      : []),
  ];
}

/** Empty if this process cannot read the storage. */
async function readResults({ results }: BatchResult, env: Environment): Promise<ItemResult[]> {
  try {
    return parseResults(await text(await openStored(results.uri, env)));
  } catch {
    return [];
  }
}
