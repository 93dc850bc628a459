import type { JobProgress } from '../contract/job';
import { decisionCommands } from '../contract/lost-submit';
import { plainLine, progressLine } from './progress-line';
import { CLEAR_LINE, printLine, type Terminal } from './terminal';
import { type Watched, watchProgress } from './watch-progress';
import { type FindMissingWorker, watchStart } from './watch-start';

const REDRAW_EVERY_MS = 200;

/** Shows a job's progress until `stop` is called: one redrawn line on a terminal, a line for each change in a pipe. */
export function showProgress(
  job: Watched<JobProgress>,
  terminal: Terminal,
  findMissingWorker: FindMissingWorker = async () => undefined,
): { stop(): void } {
  let latest: JobProgress | undefined;
  let lastPlain = '';
  let shownHold: string | undefined;

  const show = (progress: JobProgress) => {
    latest = progress;
    if (progress.hold && progress.hold.since !== shownHold) showHold(progress.hold);
    shownHold = progress.hold?.since;
    if (terminal.columns() === undefined) showPlain(progress);
  };
  const showPlain = (progress: JobProgress) => {
    const line = plainLine(progress);
    if (line !== lastPlain) printLine(terminal, line);
    lastPlain = line;
  };
  const showHold = ({ message, until }: NonNullable<JobProgress['hold']>) => {
    printAbove(message);
    printLine(
      terminal,
      `Look for the task at the service and decide before ${until}; after that the job fails:`,
    );
    for (const { when, command } of decisionCommands(job.workflowId))
      printLine(terminal, `  ${command}   # ${when}`);
  };
  const printAbove = (line: string) => {
    if (terminal.columns() !== undefined) terminal.control(CLEAR_LINE);
    printLine(terminal, line);
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (latest && columns !== undefined) {
      terminal.control(CLEAR_LINE);
      terminal.err(progressLine(latest, Date.now(), columns - 1));
    }
  };

  const watched = watchProgress(job, show);
  const start = watchStart({
    hasNotMoved: () => latest === undefined || latest.phase === 'submitting',
    findMissingWorker: () => findMissingWorker(job.workflowId),
    print: printAbove,
  });
  const redrawing = setInterval(redraw, REDRAW_EVERY_MS);
  return {
    stop() {
      watched.stop();
      start.stop();
      clearInterval(redrawing);
      if (latest && terminal.columns() !== undefined) terminal.control(CLEAR_LINE);
    },
  };
}
