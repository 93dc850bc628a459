import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobOverview } from '../client/overview';
import { askWorker } from '../client/temporal-calls';
import { printableJson, shown } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import { commandOn } from '../contract/lost-submit';
import { findJob } from './find-job';
import { holdNotes, type JobRow, liveLine, type Progress, rowLine } from './job-lines';
import { devCommand, howToContinue, type JobsSession, pageOf } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

/** At first, and later: each reading is a query, which Temporal Cloud bills. */
const READ_EVERY_MS = 500;
const READ_LATER_EVERY_MS = 2_000;
/** A worker takes a job within a second, so after this long none may be running. */
const NO_WORKER_AFTER_MS = 10_000;

/**
 * Shows a job or a batch until it has ended: a line that is drawn again and again on a terminal, a line for each change in a pipe.
 * With `asJson` each change is a JSON line on standard output. While Temporal does not answer, the last line stays. Returns the last row, or undefined after Ctrl-C and when nobody reads any longer.
 */
export async function followJob(
  session: JobsSession,
  name: string,
  terminal: Terminal,
  asJson?: boolean,
): Promise<JobRow | undefined> {
  const { signal } = session;
  const isLive = terminal.isTerminal && !asJson;
  const clear = () => isLive && terminal.control(CLEAR_LINE);
  /** Prints a line above the live one. */
  const print = (line: string) => {
    clear();
    printLine(terminal, line);
  };
  let noted = new Map<string, string>();
  let printed: string | undefined;
  const isLaterAt = Date.now() + NO_WORKER_AFTER_MS;
  let hasAskedAboutWorker = false;
  let row: JobRow | undefined;
  let isSilent = false;
  while (!signal.aborted && !terminal.isOutClosed()) {
    try {
      // Of its own: each call to Temporal leaves a listener on the signal that may abort it.
      const round = AbortSignal.any([signal]);
      setMaxListeners(0, round);
      row = await session.client.withAbortSignal(round, () => readRow(session, name));
      if (isSilent) print('Temporal answers again.');
      isSilent = false;
    } catch (error) {
      if (signal.aborted) break;
      // A first answer that is an error is the caller's.
      if (row === undefined) throw error;
      if (!isSilent) print(silence(error));
      isSilent = true;
    }
    const holds = row.progress ? holdNotes(row) : noted;
    for (const [hold, note] of holds) if (!noted.has(hold)) print(note);
    noted = holds;
    if (Date.now() >= isLaterAt && !hasAskedAboutWorker && row.endedAt === undefined) {
      hasAskedAboutWorker = true;
      // A failed call must not disturb the job.
      const missing = await session.describeMissingWorker(name).catch(() => undefined);
      if (missing !== undefined) print(missing);
    }
    const text = asJson ? printableJson(row) : row.progress && rowLine(row);
    if (isLive) terminal.control(`${CLEAR_LINE}${NO_WRAP}${liveLine(row, Date.now())}${WRAP}`);
    else if (text !== undefined && text !== printed) {
      if (asJson) terminal.out(text);
      else printLine(terminal, text);
      printed = text;
    }
    if (!isSilent && row.endedAt !== undefined) {
      clear();
      return row;
    }
    const everyMs = Date.now() < isLaterAt ? READ_EVERY_MS : READ_LATER_EVERY_MS;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  clear();
  return undefined;
}

const CLEAR_LINE = '\r\u001b[K';
/** A line that wraps could not be cleared: the terminal cuts it at the edge of the screen. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';

/** What Temporal knows of a job, with what its worker answers. */
async function readRow(session: JobsSession, name: string): Promise<JobRow> {
  const overview = await findJob(session, name);
  if (overview.endedAt !== undefined) return overview;
  const { client, videos } = session;
  const ask = (): Promise<Progress> =>
    overview.kind === 'batch' ? videos.batch(name).progress() : videos.handle(name).progress();
  return { ...overview, progress: await askWorker(client, ask).catch(() => undefined) };
}

/** The SDK's own sentence says only which call failed; the cause says why. */
function silence(error: unknown): string {
  const reason = firstLineOf(error instanceof Error ? (error.cause ?? error) : error);
  return `Temporal has not answered since ${new Date().toISOString()} (${reason}). Trying again; Ctrl-C stops.`;
}

/** Follows a job or a batch that was started or joined, such as `Job fox`. Returns its result, or an exit code. */
export async function followStarted<Result extends object>(
  session: JobsSession,
  job: { workflowId: string; result(): Promise<Result> },
  title: string,
  options: { wait: boolean; json?: boolean; service?: string },
  terminal: Terminal,
): Promise<Result | number> {
  const { workflowId } = job;
  const { taskQueue } = await joinJob(session, workflowId, terminal, options.service);
  const page = pageOf(session, workflowId);
  printLine(
    terminal,
    `${title} on task queue ${shown(taskQueue)}${page === undefined ? '' : `, shown at ${page}`}`,
  );
  const row = options.wait ? await followJob(session, workflowId, terminal) : undefined;
  // The printed link stops working when the command's own server ends.
  if (session.ownsUi)
    printLine(
      terminal,
      `This Temporal UI ends with the command; to open it again, run: ${devCommand(terminal.env.VIDEOGEN_DATA)}`,
    );
  if (row !== undefined) return await job.result();
  const command = commandOn('watch', workflowId);
  if (!options.wait) {
    const next = session.ownsUi
      ? `No worker runs on this machine now. ${howToContinue(workflowId, terminal.env)}`
      : `It continues wherever a worker runs. Follow it with: ${command}`;
    printLine(terminal, next);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  if (session.isInterrupted())
    printLine(terminal, `Stopped watching. Nothing is cancelled. Follow it again with: ${command}`);
  return EXIT.interrupted;
}

/** An existing job keeps the queue and the service that it was started with: says which are not those of this command. */
export async function joinJob(
  session: JobsSession,
  name: string,
  terminal: Terminal,
  service?: string,
): Promise<JobOverview> {
  const job = await findJob(session, name);
  const isElsewhere = session.taskQueue !== undefined && job.taskQueue !== session.taskQueue;
  const isOther = service !== undefined && job.service && !service.split(',').includes(job.service);
  const kept = [
    ...(isElsewhere ? [`task queue ${shown(job.taskQueue)}`] : []),
    ...(isOther ? [`service ${shown(job.service ?? '')}`] : []),
  ];
  if (kept.length > 0) {
    const waits = isElsewhere && job.endedAt === undefined;
    const rest = waits ? ' It continues while a worker with its storage and service runs.' : '';
    printLine(terminal, `${shown(name)} keeps what it was started with: ${kept.join(', ')}.${rest}`);
  }
  return job;
}
