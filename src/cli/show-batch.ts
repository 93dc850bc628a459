import { type BatchProgress, decisionCommands, type ItemProgress } from '../contract';
import { batchLine, batchScreen } from './batch-lines';
import { type Terminal, tell } from './terminal';
import { type Watched, watchProgress } from './watch-progress';

const REDRAW_EVERY_MS = 200;

/** Shows a batch's progress until `stop` is called: a line for each item that runs on a terminal, a line a change in a pipe. */
export function showBatch(batch: Watched<BatchProgress>, terminal: Terminal): { stop(): void } {
  let latest: BatchProgress | undefined;
  let drawn = 0;
  let lastPlain = '';
  const toldHolds = new Set<string>();

  const show = (progress: BatchProgress) => {
    latest = progress;
    for (const item of progress.running) showHold(item);
    if (terminal.columns() === undefined) showPlain(progress);
  };
  const showPlain = (progress: BatchProgress) => {
    const line = batchLine(progress);
    if (line !== lastPlain) tell(terminal, line);
    lastPlain = line;
  };
  const showHold = ({ item, hold }: ItemProgress) => {
    if (hold === undefined || toldHolds.has(`${item} ${hold.since}`)) return;
    toldHolds.add(`${item} ${hold.since}`);
    clear();
    tell(terminal, `Item ${item}: ${hold.message}`);
    tell(terminal, `Look for the task at the service and decide before ${hold.until}, when the item fails:`);
    for (const { when, command } of decisionCommands(batch.workflowId, item))
      tell(terminal, `  ${command}   (${when})`);
  };
  const clear = () => {
    if (drawn > 0) terminal.steer(`\u001b[${drawn}A\r\u001b[J`);
    drawn = 0;
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (!latest || columns === undefined) return;
    const lines = batchScreen(latest, Date.now(), columns - 1, terminal.rows() ?? 24);
    terminal.steer(`${drawn > 0 ? `\u001b[${drawn}A` : ''}\r`);
    for (const line of lines) {
      terminal.err(line);
      terminal.steer('\u001b[K\n');
    }
    terminal.steer('\u001b[J');
    drawn = lines.length;
  };

  const watched = watchProgress(batch, show);
  const redrawing = setInterval(redraw, REDRAW_EVERY_MS);
  return {
    stop() {
      watched.stop();
      clearInterval(redrawing);
      clear();
    },
  };
}
