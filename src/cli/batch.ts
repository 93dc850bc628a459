import { printableJson, shown } from '../contract';
import { summaryLines } from './batch-summary';
import { batchCommand } from './commands';
import { copyOut } from './copy-out';
import { EXIT, reportError } from './exit-codes';
import { STORAGE_MEMO, storageWish, tellOfJoined } from './joined-job';
import { type Place, tellOfUi, whereIs } from './open-temporal';
import type { BatchOptions } from './options';
import { type BatchOrder, readBatch } from './read-batch';
import { showBatch } from './show-batch';
import { type Terminal, tell } from './terminal';
import { orEnded, whileShown, withTemporal } from './with-temporal';

/** `videogen batch`: a video for each line of a file. The same file again is the same batch, and goes on where it was. */
export async function batch(file: string, options: BatchOptions, terminal: Terminal): Promise<number> {
  try {
    const order = await readBatch(file, options, terminal.env);
    return await withTemporal(terminal, {
      what: 'the batch',
      isNew: true,
      run: (place) => runBatch(place, order, { file, options, terminal }),
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

interface Asked {
  file: string;
  options: BatchOptions;
  terminal: Terminal;
}

async function runBatch(
  place: Place,
  { workflowId, requests, input }: BatchOrder,
  { file, options, terminal }: Asked,
): Promise<number | 'temporal-ended'> {
  const wish = storageWish(place, options.storage);
  const temporal = { memo: { [STORAGE_MEMO]: wish } };
  const started = await orEnded(place, place.videos.startBatch(input, { workflowId, temporal }));
  if (started === 'temporal-ended') return started;
  const there = await orEnded(place, place.describe(workflowId));
  if (there === 'temporal-ended') return there;
  await tellOfJoined(there, place, { terminal, wish });
  tell(terminal, `Batch ${shown(workflowId)} of ${requests.length}${whereIs(there, place)}`);
  const again = batchCommand(file, options.id);
  if (!options.wait) {
    tellOfUi(place, terminal);
    tell(terminal, `It goes on wherever a worker runs. Follow it with: ${again}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  const result = await whileShown(showBatch(started, terminal), started.result(), { place, terminal });
  if (result === 'temporal-ended') return result;
  if (result === 'interrupted') {
    tell(terminal, `Left the batch, which is kept. Go on with: ${again}`);
    return EXIT.interrupted;
  }
  for (const line of await summaryLines(result, terminal.env)) tell(terminal, line);
  const results = await copyOut(result.results.uri, undefined, terminal.env);
  terminal.out(options.json ? printableJson({ workflowId, ...result }) : results);
  return result.failed === 0 ? EXIT.ok : EXIT.someFailed;
}
