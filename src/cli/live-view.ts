import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowOptions } from '../client/workflow-handle';
import { printableJson } from '../contract/clean-text';
import { firstLineOf } from './doctor/described-error';
import type { JobsSession } from './open-jobs';
import {
  holdNotes,
  isBatch,
  type JobRow,
  type Note,
  type Progress,
  plainLine,
  screenLines,
} from './progress-lines';
import { paint, printLine, type Terminal } from './terminal';
import { type Piece, widthOf } from './text-columns';

const QUERY_EVERY_MS = 500;
const REDRAW_EVERY_MS = 200;
/** A worker takes a job within a second, so after this long none may be running. */
const SUSPECT_AFTER_MS = 10_000;

/** Lines at the end of the screen that are drawn again and again, and lines above them that stay. */
export class LiveLines {
  /** The widths of the lines on the screen. The cursor is at the end of the last one. */
  private drawn: number[] = [];
  private readonly noted = new Set<string>();

  constructor(private readonly terminal: Terminal) {}

  draw(lines: readonly (readonly Piece[])[]): void {
    const { terminal } = this;
    // What has scrolled off the screen could not be drawn again.
    const visible = lines.slice(0, Math.max(1, (terminal.rows() ?? 24) - 1));
    const texts = visible.map((pieces) => `${paint(pieces, terminal)}\u001b[K`);
    terminal.control(`${this.toStart()}${texts.join('\n')}\u001b[J`);
    this.drawn = visible.map((pieces) => pieces.reduce((sum, { text }) => sum + widthOf(text), 0));
  }

  /** Prints a line above the others, which the next `draw` brings back. */
  print(line: string): void {
    this.clear();
    printLine(this.terminal, line);
  }

  printOnce(notes: readonly Note[]): void {
    for (const { key, text } of notes) {
      if (!this.noted.has(key)) this.print(text);
      this.noted.add(key);
    }
  }

  clear(): void {
    if (this.drawn.length > 0) this.terminal.control(`${this.toStart()}\u001b[J`);
    this.drawn = [];
  }

  /** Leaves the last lines on the screen. */
  keep(): void {
    if (this.drawn.length > 0) this.terminal.control('\n');
    this.drawn = [];
  }

  /** Terminals that have become narrower have wrapped the lines. */
  private toStart(): string {
    const columns = this.terminal.columns() ?? 1;
    const rows = this.drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows > 1 ? `\u001b[${rows - 1}A\r` : '\r';
  }
}

/** A job or a batch whose progress is shown. */
export interface FollowedJob {
  workflowId: string;
  follow(options?: FollowOptions & { items?: boolean }): AsyncIterable<Progress>;
}

/** Returns a sentence about the worker that a job or batch waits for; undefined if none is missing. */
type FindMissingWorker = (workflowId: string) => Promise<string | undefined>;

/** Shows a job or a batch until `stop` is called: redrawn lines on a terminal, a line for each change in a pipe. */
export function showProgress(
  job: FollowedJob,
  terminal: Terminal,
  findMissingWorker: FindMissingWorker = async () => undefined,
): { stop(): void } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const live = new LiveLines(terminal);
  let latest: Progress | undefined;
  let lastPlain = '';

  const changed = (progress: Progress) => {
    // A query that was sent before `stop` may be answered after it.
    if (signal.aborted) return;
    latest = progress;
    live.printOnce(holdNotes(job.workflowId, progress));
    if (terminal.columns() !== undefined) return;
    const line = plainLine(progress);
    if (line !== lastPlain) printLine(terminal, line);
    lastPlain = line;
  };
  const keepFollowing = async () => {
    while (!signal.aborted) {
      try {
        const options = { everyMs: QUERY_EVERY_MS, signal, items: true };
        for await (const progress of job.follow(options)) changed(progress);
        return;
      } catch {
        // Temporal may be unreachable for a while. `result` of the job says if it stays so.
        await new Promise((resolve) => setTimeout(resolve, QUERY_EVERY_MS));
      }
    }
  };
  const askForWorker = async () => {
    if (hasMoved(latest)) return;
    // A failed call must not disturb the job.
    const line = await findMissingWorker(job.workflowId).catch(() => undefined);
    if (line !== undefined && !signal.aborted && !hasMoved(latest)) live.print(line);
  };
  const redraw = () => {
    const columns = terminal.columns();
    if (latest === undefined || columns === undefined) return;
    // Some terminals wrap as soon as the last column is filled.
    const lines = screenLines(latest, Date.now(), columns - 1, terminal.rows() ?? 24);
    live.draw(lines.map((text) => [{ text }]));
  };

  void keepFollowing();
  const suspecting = setTimeout(() => void askForWorker(), SUSPECT_AFTER_MS);
  const redrawing = setInterval(redraw, REDRAW_EVERY_MS);
  return {
    stop() {
      stopped.abort();
      clearTimeout(suspecting);
      clearInterval(redrawing);
      live.clear();
    },
  };
}

/** Whether a worker has done more than to take the job. */
function hasMoved(progress: Progress | undefined): boolean {
  if (progress === undefined) return false;
  if (!isBatch(progress)) return progress.phase !== 'submitting';
  const { succeeded, failed, running } = progress;
  return succeeded + failed > 0 || running.some((item) => item.progress && hasMoved(item.progress));
}

/** Rows that are read again and again. */
interface WatchedRows {
  everyMs: number;
  read(): Promise<JobRow[]>;
  /** A table in at most these columns and rows. */
  lines(rows: readonly JobRow[], screen: { columns: number; rows: number }): Piece[][];
  /** Texts for people about a row. */
  notesOn?(row: JobRow): Note[];
  isOver(rows: readonly JobRow[]): boolean;
  json?: boolean | undefined;
}

/**
 * Shows rows until they are over: a table that is drawn again and again on a terminal, a JSON line for each change in a pipe.
 * While Temporal does not answer, the last rows stay. Returns the last rows, or undefined after Ctrl-C and when nobody
 * reads any more.
 */
export async function watchRows(
  session: Pick<JobsSession, 'client' | 'signal'>,
  terminal: Terminal,
  { everyMs, read, lines, notesOn = () => [], isOver, json }: WatchedRows,
): Promise<JobRow[] | undefined> {
  const { signal } = session;
  const live = new LiveLines(terminal);
  const printed = new Map<string, string>();
  let rows: JobRow[] | undefined;
  let isSilent = false;
  while (!signal.aborted && !terminal.isOutClosed()) {
    try {
      rows = await abortable(session, read);
      if (isSilent) live.print('Temporal answers again.');
      isSilent = false;
    } catch (error) {
      if (signal.aborted) break;
      // A first answer that is an error is the caller's.
      if (rows === undefined) throw error;
      if (!isSilent) {
        const since = new Date().toISOString();
        live.print(
          `Temporal does not answer since ${since} (${reasonOf(error)}). Trying again; Ctrl-C stops.`,
        );
      }
      isSilent = true;
    }
    live.printOnce(rows.flatMap(notesOn));
    const columns = terminal.outScreen() && terminal.columns();
    if (columns === undefined || json) printChanges(rows, printed, terminal);
    else live.draw(lines(rows, { columns: columns - 1, rows: (terminal.rows() ?? 24) - 1 }));
    if (!isSilent && isOver(rows)) {
      live.keep();
      return rows;
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  live.keep();
  return undefined;
}

/** With a signal of its own: each call to Temporal leaves a listener on the signal that may abort it. */
async function abortable<T>(
  { client, signal }: Pick<JobsSession, 'client' | 'signal'>,
  read: () => Promise<T>,
): Promise<T> {
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

/** The SDK's own sentence says only which call failed. */
function reasonOf(error: unknown): string {
  return firstLineOf(error instanceof Error ? (error.cause ?? error) : error);
}

function printChanges(rows: readonly JobRow[], printed: Map<string, string>, terminal: Terminal): void {
  for (const row of rows) {
    const line = printableJson(row);
    if (printed.get(row.workflowId) !== line) terminal.out(line);
    printed.set(row.workflowId, line);
  }
}
