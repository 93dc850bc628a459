import type { BatchProgress, ItemProgress } from '../contract/batch';
import { decisionCommands } from '../contract/lost-submit';
import { batchLine, batchScreen } from './batch-lines';
import { printLine, type Terminal } from './terminal';
import { type Watched, watchProgress } from './watch-progress';
import { type FindMissingWorker, watchStart } from './watch-start';

const REDRAW_EVERY_MS = 200;

/** Shows a batch's progress until `stop` is called: a line for each running item on a terminal, a line for each change in a pipe. */
export function showBatch(
  batch: Watched<BatchProgress>,
  terminal: Terminal,
  findMissingWorker: FindMissingWorker = async () => undefined,
): { stop(): void } {
  let latest: BatchProgress | undefined;
  let drawn = 0;
  let lastPlain = '';
  const shownHolds = new Set<string>();

  const show = (progress: BatchProgress) => {
    latest = progress;
    for (const item of progress.running) showHold(item);
    if (terminal.columns() === undefined) showPlain(progress);
  };
  const showPlain = (progress: BatchProgress) => {
    const line = batchLine(progress);
    if (line !== lastPlain) printLine(terminal, line);
    lastPlain = line;
  };
  const showHold = ({ item, name, isHeld, progress }: ItemProgress) => {
    const hold = progress?.hold;
    if (!isHeld || shownHolds.has(`${item} ${hold?.since}`)) return;
    shownHolds.add(`${item} ${hold?.since}`);
    clear();
    printLine(terminal, `Item ${item}: ${hold?.message ?? 'needs a decision.'}`);
    const before = hold ? ` before ${hold.until}; after that the item fails` : '';
    printLine(terminal, `Look for the task at the service and decide${before}:`);
    for (const { when, command } of decisionCommands(name)) printLine(terminal, `  ${command}   # ${when}`);
  };
  const clear = () => {
    if (drawn > 0) terminal.control(`\u001b[${drawn}A\r\u001b[J`);
    drawn = 0;
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (!latest || columns === undefined) return;
    const lines = batchScreen(latest, Date.now(), columns - 1, terminal.rows() ?? 24);
    terminal.control(`${drawn > 0 ? `\u001b[${drawn}A` : ''}\r`);
    for (const line of lines) {
      terminal.err(line);
      terminal.control('\u001b[K\n');
    }
    terminal.control('\u001b[J');
    drawn = lines.length;
  };

  const watched = watchProgress(batch, show);
  const start = watchStart({
    hasNotMoved: () => latest === undefined || isStarting(latest),
    findMissingWorker: () => findMissingWorker(batch.workflowId),
    print: (line) => {
      clear();
      printLine(terminal, line);
    },
  });
  const redrawing = setInterval(redraw, REDRAW_EVERY_MS);
  return {
    stop() {
      watched.stop();
      start.stop();
      clearInterval(redrawing);
      clear();
    },
  };
}

function isStarting({ succeeded, failed, running }: BatchProgress): boolean {
  return (
    succeeded + failed === 0 && running.every(({ progress }) => !progress || progress.phase === 'submitting')
  );
}
