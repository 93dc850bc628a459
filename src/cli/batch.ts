import { text } from 'node:stream/consumers';
import type { Environment } from '../config/service-config';
import { type BatchResult, doneBefore, type ItemResult, parseResults } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import { describeBatchCost } from '../contract/job-cost';
import { batchCommand } from './commands';
import { copyOut, openStored } from './copy-out';
import { EXIT } from './exit-codes';
import { reportJoined, requestedStorage, STORAGE_MEMO } from './joined-job';
import { showProgress } from './live-view';
import { printUiCommand, queueAndLink, type TemporalSession } from './open-temporal';
import { type BatchOptions, type BatchOrder, readBatch } from './read-batch';
import { printLine, type Terminal } from './terminal';
import { orEnded, whileShown, withTemporal } from './with-temporal';

/** `videogen batch`: generates a video for each line of a file. The same file again continues the same batch. */
export async function batch(file: string, options: BatchOptions, terminal: Terminal): Promise<number> {
  const order = await readBatch(file, options, terminal.env);
  return await withTemporal(terminal, {
    what: 'the batch',
    isNew: true,
    run: (session) => runBatch(session, order, { file, options, terminal }),
  });
}

interface CommandLine {
  file: string;
  options: BatchOptions;
  terminal: Terminal;
}

async function runBatch(
  session: TemporalSession,
  { workflowId, requests, input }: BatchOrder,
  { file, options, terminal }: CommandLine,
): Promise<number | 'temporal-ended'> {
  const requested = requestedStorage(session, options.storage);
  const temporal = { memo: { [STORAGE_MEMO]: requested } };
  const handle = await orEnded(session, session.videos.startBatch(input, { workflowId, temporal }));
  if (handle === 'temporal-ended') return handle;
  const description = await orEnded(session, session.describe(workflowId));
  if (description === 'temporal-ended') return description;
  await reportJoined(description, session, { terminal, requested, service: options.service });
  printLine(
    terminal,
    `Batch ${shown(workflowId)} of ${requests.length}${queueAndLink(description, session)}`,
  );
  const command = batchCommand(file, options.id);
  if (!options.wait) {
    printUiCommand(session, terminal);
    printLine(terminal, `It continues wherever a worker runs. Follow it with: ${command}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  const result = await whileShown(
    showProgress(handle, terminal, session.describeMissingWorker),
    handle.result(),
    { session, terminal },
  );
  if (result === 'temporal-ended') return result;
  if (result === 'interrupted') {
    printLine(terminal, `Stopped watching. The batch is not cancelled. Pick it up again with: ${command}`);
    return EXIT.interrupted;
  }
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
