import { printableJson, shown } from '../contract/clean-text';
import { summaryLines } from './batch-summary';
import { batchCommand } from './commands';
import { copyOut } from './copy-out';
import { EXIT, reportError } from './exit-codes';
import { reportJoined, requestedStorage, STORAGE_MEMO } from './joined-job';
import { printUiCommand, queueAndLink, type TemporalSession } from './open-temporal';
import type { BatchOptions } from './options';
import { type BatchOrder, readBatch } from './read-batch';
import { showBatch } from './show-batch';
import { printLine, type Terminal } from './terminal';
import { orEnded, whileShown, withTemporal } from './with-temporal';

/** `videogen batch`: generates a video for each line of a file. The same file again continues the same batch. */
export async function batch(file: string, options: BatchOptions, terminal: Terminal): Promise<number> {
  try {
    const order = await readBatch(file, options, terminal.env);
    return await withTemporal(terminal, {
      what: 'the batch',
      isNew: true,
      run: (session) => runBatch(session, order, { file, options, terminal }),
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
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
    showBatch(handle, terminal, session.describeMissingWorker),
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
