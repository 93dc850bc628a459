import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { JobOverview } from '../client/overview';
import { inTime } from '../client/temporal-calls';
import { printableJson, shown } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import { commandOn } from '../contract/lost-submit';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { holdNotes, isBatch, type JobRow, liveLines, type Progress, progressLine } from './job-lines';
import { devCommand, type JobsSession, pageOf } from './open-jobs';
import { printLine, type Terminal } from './terminal';
import { widthOf } from './text-table';

/** At first, and later: each reading is a query, which Temporal Cloud bills. */
const READ_EVERY_MS = 500;
const READ_LATER_EVERY_MS = 2_000;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 2_000;
/** A worker takes a job within a second, so after this long none may be running. */
const SUSPECT_AFTER_MS = 10_000;

/** The memo with the address of the storage where a job or batch of this machine puts its videos. */
export const STORAGE_MEMO = 'storage';

interface FollowOptions {
  terminal: Terminal;
  /** Prints each change as a JSON line to standard output, and not as text to standard error. */
  asJson?: boolean | undefined;
}

/**
 * Shows jobs and batches until all have ended: lines that are drawn again and again on a terminal, a line for each change in a
 * pipe. While Temporal does not answer, the last lines stay. Returns the last rows, or undefined after Ctrl-C and when nobody
 * reads any more.
 */
export async function followJobs(
  session: JobsSession,
  names: readonly string[],
  { terminal, asJson }: FollowOptions,
): Promise<JobRow[] | undefined> {
  const { signal } = session;
  const live = new LiveLines(terminal);
  const printed = new Map<string, string>();
  const suspectAt = Date.now() + SUSPECT_AFTER_MS;
  const suspected = new Set<string>();
  let rows: JobRow[] | undefined;
  let isSilent = false;
  while (!signal.aborted && !terminal.isOutClosed()) {
    try {
      rows = await abortable(session, () => Promise.all(names.map((name) => readRow(session, name))));
      if (isSilent) live.print('Temporal answers again.');
      isSilent = false;
    } catch (error) {
      if (signal.aborted) break;
      // A first answer that is an error is the caller's.
      if (rows === undefined) throw error;
      if (!isSilent) live.print(silence(error));
      isSilent = true;
    }
    for (const note of rows.flatMap((row) => [...holdNotes(row)])) live.printOnce(...note);
    if (Date.now() >= suspectAt) {
      for (const row of rows.filter((one) => !hasMoved(one) && !suspected.has(one.workflowId))) {
        suspected.add(row.workflowId);
        // A failed call must not disturb the job.
        const missing = await session.describeMissingWorker(row.workflowId).catch(() => undefined);
        if (missing !== undefined) live.print(missing);
      }
    }
    const columns = terminal.columns();
    if (asJson || columns === undefined) printChanges(rows, printed, { terminal, asJson });
    // Some terminals wrap as soon as the last column is filled.
    else live.draw(rows, { ...terminal.outScreen(), columns: columns - 1, rows: terminal.rows() ?? 24 });
    if (!isSilent && rows.every(({ endedAt }) => endedAt !== undefined)) {
      live.end({ keep: rows.length > 1 });
      return rows;
    }
    const everyMs = Date.now() < suspectAt ? READ_EVERY_MS : READ_LATER_EVERY_MS;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  live.end({ keep: true });
  return undefined;
}

/** What Temporal knows of a job, with what its worker answers. */
async function readRow(session: JobsSession, name: string): Promise<JobRow> {
  const overview = await findJob(session, name);
  if (overview.endedAt !== undefined) return overview;
  const { client, videos } = session;
  const ask = (): Promise<Progress> =>
    overview.kind === 'batch' ? videos.batch(name).progress({ items: true }) : videos.handle(name).progress();
  return { ...overview, progress: await inTime(client, ask, QUERY_WITHIN_MS).catch(() => undefined) };
}

/** With a signal of its own: each call to Temporal leaves a listener on the signal that may abort it. */
async function abortable<T>({ client, signal }: JobsSession, read: () => Promise<T>): Promise<T> {
  const round = new AbortController();
  setMaxListeners(0, round.signal);
  const abort = () => round.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await client.withAbortSignal(round.signal, read);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The SDK's own sentence says only which call failed; the cause says why. */
function silence(error: unknown): string {
  const reason = firstLineOf(error instanceof Error ? (error.cause ?? error) : error);
  return `Temporal does not answer since ${new Date().toISOString()} (${reason}). Trying again; Ctrl-C stops.`;
}

/** Whether a worker has done more than to take the job. */
function hasMoved({ endedAt, progress }: JobRow): boolean {
  const moved = ({ phase }: { phase: string }) => phase !== 'submitting';
  if (endedAt !== undefined || progress === undefined) return endedAt !== undefined;
  if (!isBatch(progress)) return moved(progress);
  const { succeeded, failed, running } = progress;
  return succeeded + failed > 0 || running.some((item) => item.progress && moved(item.progress));
}

function printChanges(
  rows: readonly JobRow[],
  printed: Map<string, string>,
  { terminal, asJson }: FollowOptions,
): void {
  for (const row of rows) {
    const text = asJson ? printableJson(row) : row.progress && progressLine(row.progress);
    if (text === undefined || printed.get(row.workflowId) === text) continue;
    printed.set(row.workflowId, text);
    if (asJson) terminal.out(text);
    else printLine(terminal, rows.length > 1 ? `${shown(row.workflowId)}: ${text}` : text);
  }
}

/** Lines at the end of the screen that are drawn again and again, and lines above them that stay. */
class LiveLines {
  /** The widths of the lines on the screen. The cursor is at the end of the last one. */
  private drawn: number[] = [];
  private readonly noted = new Set<string>();

  constructor(private readonly terminal: Terminal) {}

  draw(rows: readonly JobRow[], screen: Parameters<typeof liveLines>[1]): void {
    const lines = liveLines(rows, screen, Date.now());
    this.terminal.control(`${this.toStart()}${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`);
    this.drawn = lines.map((line) => widthOf(stripVTControlCharacters(line)));
  }

  /** Prints a line above the others, which the next `draw` brings back. */
  print(line: string): void {
    this.end({ keep: false });
    printLine(this.terminal, line);
  }

  printOnce(key: string, text: string): void {
    if (!this.noted.has(key)) this.print(text);
    this.noted.add(key);
  }

  end({ keep }: { keep: boolean }): void {
    if (this.drawn.length > 0) this.terminal.control(keep ? '\n' : `${this.toStart()}\u001b[J`);
    this.drawn = [];
  }

  /** Terminals that have become narrower have wrapped the lines. */
  private toStart(): string {
    const columns = this.terminal.columns() ?? 1;
    const rows = this.drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows > 1 ? `\u001b[${rows - 1}A\r` : '\r';
  }
}

interface StartedOptions {
  /** `Job fox`, or `Batch foxes of 40`. */
  title: string;
  options: { wait: boolean; json?: boolean; service?: string };
  terminal: Terminal;
}

/** Follows a job or a batch that was started or joined. Returns its result, or an exit code. */
export async function followStarted<Result extends object>(
  session: JobsSession,
  job: { workflowId: string; result(): Promise<Result> },
  { title, options, terminal }: StartedOptions,
): Promise<Result | number> {
  const { workflowId } = job;
  const { taskQueue } = await joinJob(session, workflowId, terminal, options.service);
  const page = pageOf(session, workflowId);
  printLine(
    terminal,
    `${title} on task queue ${shown(taskQueue)}${page === undefined ? '' : `, shown at ${page}`}`,
  );
  const rows = options.wait ? await followJobs(session, [workflowId], { terminal }) : undefined;
  // The printed link stops working when the command's own server ends.
  if (session.ownsUi)
    printLine(
      terminal,
      `This Temporal UI ends with the command; to open it again, run: ${devCommand(terminal.env.VIDEOGEN_DATA)}`,
    );
  if (rows !== undefined) return await job.result();
  const command = commandOn('watch', workflowId);
  if (!options.wait) {
    printLine(terminal, `It continues wherever a worker runs. Follow it with: ${command}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  if (session.isInterrupted())
    printLine(terminal, `Stopped watching. Nothing is cancelled. Follow it again with: ${command}`);
  return EXIT.interrupted;
}

/** An existing job keeps the queue, storage and service that it was started with: says which are not those of this command. */
export async function joinJob(
  session: JobsSession,
  name: string,
  terminal: Terminal,
  service?: string,
): Promise<JobOverview> {
  const { worker, client } = session;
  const job = await findJob(session, name);
  const { taskQueue } = job;
  const kept: string[] = [];
  const isElsewhere = worker !== undefined && taskQueue !== worker.taskQueue;
  if (isElsewhere) {
    const { memo } = await client.workflow.getHandle(name).describe();
    const storage = memo?.[STORAGE_MEMO];
    kept.push(`task queue ${shown(taskQueue)}`);
    if (typeof storage === 'string') kept.push(`storage ${shown(storage)}`);
  }
  if (service !== undefined && job.service !== undefined && !service.split(',').includes(job.service))
    kept.push(`service ${shown(job.service)}`);
  if (kept.length > 0) {
    const waits = isElsewhere && job.endedAt === undefined;
    const rest = waits ? ' It continues while a worker with those settings runs.' : '';
    printLine(terminal, `${shown(name)} keeps what it was started with: ${kept.join(', ')}.${rest}`);
  }
  return job;
}
