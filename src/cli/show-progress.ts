import type { VideoJob } from '../client/video-job';
import { decisionCommands, type JobProgress } from '../contract';
import { plainLine, progressLine } from './progress-line';
import { CLEAR_LINE, type Terminal, tell } from './terminal';

const ASK_EVERY_MS = 500;
const REDRAW_EVERY_MS = 200;

/** Shows a job's progress until `stop` is called: one line that is redrawn on a terminal, a line a change in a pipe. */
export function showProgress(
  job: Pick<VideoJob, 'workflowId' | 'progress'>,
  terminal: Terminal,
): { stop(): void } {
  let latest: JobProgress | undefined;
  let lastPlain = '';
  let shownHold: string | undefined;
  let asking = false;
  let stopped = false;

  const ask = async () => {
    if (asking) return;
    asking = true;
    // Until a worker has begun there is nobody to answer; what cannot be asked now is asked again.
    latest = await job.progress().catch(() => latest);
    asking = false;
    if (stopped || !latest) return;
    if (latest.hold && latest.hold.since !== shownHold) showHold(latest.hold);
    shownHold = latest.hold?.since;
    if (terminal.columns() === undefined) showPlain(latest);
  };
  const showPlain = (progress: JobProgress) => {
    const line = plainLine(progress);
    if (line !== lastPlain) tell(terminal, line);
    lastPlain = line;
  };
  const showHold = ({ message, until }: NonNullable<JobProgress['hold']>) => {
    if (terminal.columns() !== undefined) terminal.steer(CLEAR_LINE);
    tell(terminal, message);
    tell(terminal, `Look for the task at the service and decide before ${until}, when the job fails:`);
    for (const { when, command } of decisionCommands(job.workflowId))
      tell(terminal, `  ${command}   (${when})`);
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (latest && columns !== undefined) {
      terminal.steer(CLEAR_LINE);
      terminal.err(progressLine(latest, Date.now(), columns - 1));
    }
  };

  const timers = [setInterval(() => void ask(), ASK_EVERY_MS), setInterval(redraw, REDRAW_EVERY_MS)];
  return {
    stop() {
      stopped = true;
      timers.forEach(clearInterval);
      if (latest && terminal.columns() !== undefined) terminal.steer(CLEAR_LINE);
    },
  };
}
