import { text } from 'node:stream/consumers';
import type { Environment } from '../config';
import { type BatchResult, parseResults } from '../contract';
import { openStored } from './copy-out';

/** The file lists them all. */
const MOST_FAILURES_TOLD = 10;

/** How a batch ended, and what its items failed of. */
export async function summaryLines(result: BatchResult, env: Environment): Promise<string[]> {
  const { items, succeeded, failed } = result;
  const stored = `Stored ${succeeded} of ${items} videos`;
  if (failed === 0) return [`${stored}.`];
  const failures = await readFailures(result, env);
  const more = failures.splice(MOST_FAILURES_TOLD).length;
  return [
    `${stored}, ${failed} failed${failures.length > 0 ? ':' : '.'}`,
    ...failures,
    ...(more > 0 ? [`  and ${more} more, in the results`] : []),
  ];
}

/** Of a storage that cannot be read from here nothing more is known than the numbers. */
async function readFailures({ results }: BatchResult, env: Environment): Promise<string[]> {
  try {
    const lines = parseResults(await text(await openStored(results.uri, env)));
    return lines.flatMap((line) => (line.outcome === 'failed' ? [`  ${line.item}: ${line.message}`] : []));
  } catch {
    return [];
  }
}
