import type { VideoBatch } from '../client/video-batch';
import { type BatchProgress, decisionCommands, type ItemProgress } from '../contract';
import { batchLine, batchScreen } from './batch-lines';
import { type Terminal, tell } from './terminal';

const ASK_EVERY_MS = 500;
const REDRAW_EVERY_MS = 200;

/** Shows a batch's progress until `stop` is called: a line for each item that runs on a terminal, a line a change in a pipe. */
export function showBatch(
  batch: Pick<VideoBatch, 'workflowId' | 'progress'>,
  terminal: Terminal,
): { stop(): void } {
  let latest: BatchProgress | undefined;
  let drawn = 0;
  let lastPlain = '';
  let asking = false;
  let stopped = false;
  const toldHolds = new Set<string>();

  const ask = async () => {
    if (asking) return;
    asking = true;
    // Until a worker has begun there is nobody to answer; what cannot be asked now is asked again.
    latest = await batch.progress().catch(() => latest);
    asking = false;
    if (stopped || !latest) return;
    for (const item of latest.running) showHold(item);
    if (terminal.columns() === undefined) showPlain(latest);
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

  const timers = [setInterval(() => void ask(), ASK_EVERY_MS), setInterval(redraw, REDRAW_EVERY_MS)];
  return {
    stop() {
      stopped = true;
      timers.forEach(clearInterval);
      clear();
    },
  };
}
