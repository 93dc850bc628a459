import { text } from 'node:stream/consumers';
import type { Environment } from '../config/service-config';
import { type BatchResult, doneBefore, type ItemResult, parseResults, shown } from '../contract';
import { openStored } from './copy-out';

/** The file lists them all. */
const MOST_FAILURES_TOLD = 10;

/** How a batch ended, and what its items failed of. */
export async function summaryLines(result: BatchResult, env: Environment): Promise<string[]> {
  const { items, succeeded, failed } = result;
  const stored = `Stored ${succeeded} of ${items} videos`;
  if (failed === 0) return [`${stored}.`];
  const results = await readResults(result, env);
  const failures = results.flatMap((line) =>
    line.outcome === 'failed' ? [`  ${line.item}: ${shown(line.message)}`] : [],
  );
  const more = failures.splice(MOST_FAILURES_TOLD).length;
  const triable = results.length > 0 ? failed - doneBefore(results).failed : 0;
  return [
    `${stored}, ${failed} failed${failures.length > 0 ? ':' : '.'}`,
    ...failures,
    ...(more > 0 ? [`  and ${more} more, in the results`] : []),
    ...(triable > 0
      ? [`Run again, it goes on with ${triable === failed ? 'them' : `${triable} of them`}.`]
      : []),
  ];
}

/** Of a storage that cannot be read from here nothing more is known than the numbers. */
async function readResults({ results }: BatchResult, env: Environment): Promise<ItemResult[]> {
  try {
    return parseResults(await text(await openStored(results.uri, env)));
  } catch {
    return [];
  }
}
