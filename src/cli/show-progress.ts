import type { VideoJob } from '../client';
import type { JobProgress } from '../contract';
import { plainLine, progressLine } from './progress-line';
import type { Terminal } from './terminal';

const ASK_EVERY_MS = 500;
const REDRAW_EVERY_MS = 200;
const CLEAR_LINE = '\r\u001b[K';

/** Shows a job's progress until `stop` is called: one line that is redrawn on a terminal, a line a change in a pipe. */
export function showProgress(job: VideoJob, terminal: Terminal): { stop(): void } {
  let latest: JobProgress | undefined;
  let lastPlain = '';
  let asking = false;
  let stopped = false;

  const ask = async () => {
    if (asking) return;
    asking = true;
    // Until a worker has begun there is nobody to answer; what cannot be asked now is asked again.
    latest = await job.progress().catch(() => latest);
    asking = false;
    if (stopped) return;
    if (latest && terminal.columns() === undefined) showPlain(latest);
  };
  const showPlain = (progress: JobProgress) => {
    const line = plainLine(progress);
    if (line !== lastPlain) terminal.err(`${line}\n`);
    lastPlain = line;
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (latest && columns !== undefined) {
      terminal.err(`${CLEAR_LINE}${progressLine(latest, Date.now(), columns - 1)}`);
    }
  };

  const timers = [setInterval(() => void ask(), ASK_EVERY_MS), setInterval(redraw, REDRAW_EVERY_MS)];
  return {
    stop() {
      stopped = true;
      timers.forEach(clearInterval);
      if (latest && terminal.columns() !== undefined) terminal.err(CLEAR_LINE);
    },
  };
}
