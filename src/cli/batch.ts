import { text } from 'node:stream/consumers';
import type { Environment } from '../config/service-config';
import { type BatchResult, doneBefore, type ItemResult, parseResults } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import { describeBatchCost } from '../contract/job-cost';
import { useModels } from './ai-sdk-models';
import { copyOut, openStored } from './copy-out';
import { followStarted } from './follow-jobs';
import { type JobsSession, withJobs } from './open-jobs';
import { type BatchOrder, type BatchSettings, readBatch } from './read-input';
import { EXIT, printLine, type Terminal } from './terminal';

/** `videogen batch`: generates a video for each line of a file. The same file again continues the same batch. */
export async function batch(file: string, given: BatchSettings, terminal: Terminal): Promise<number> {
  const options = { ...given, service: await useModels(given.service, terminal) };
  const order = await readBatch(file, options, terminal.env);
  return await withJobs(terminal, {
    withWorker: true,
    starts: 'the batch',
    isNew: true,
    run: (session) => runBatch(session, order, options, terminal),
  });
}

async function runBatch(
  session: JobsSession,
  { workflowId, requests, input }: BatchOrder,
  options: BatchSettings,
  terminal: Terminal,
): Promise<number> {
  const started = await session.videos.startBatch(input, { workflowId });
  const title = `Batch ${shown(workflowId)} of ${requests.length}`;
  const result = await followStarted(session, started, title, options, terminal);
  if (typeof result === 'number') return result;
  for (const line of await summaryLines(result, terminal.env)) printLine(terminal, line);
  const results = await copyOut(result.results.uri, undefined, terminal.env);
  terminal.out(options.json ? printableJson({ workflowId, ...result }) : results);
  return result.failed === 0 ? EXIT.ok : EXIT.someFailed;
}

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
    ...(retryable > 0 ? [`Run the batch again to retry ${retryable} of them.`] : []),
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
