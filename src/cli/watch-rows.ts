import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { printableJson } from '../contract/clean-text';
import { messageOf } from './doctor/described-error';
import { type JobRow, jobColumns } from './job-rows';
import { LiveTable } from './live-table';
import type { JobsSession } from './open-jobs';
import { tableLines } from './table';
import { type Piece, printLine, type Terminal } from './terminal';

/** Rows that are read again and again. */
export interface WatchedRows {
  everyMs: number;
  read(): Promise<JobRow[]>;
  /** Lines for people about a row, which are printed once each, above the table. */
  notesOn?(row: JobRow): string[];
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
  { everyMs, read, notesOn = () => [], isOver, json }: WatchedRows,
): Promise<JobRow[] | undefined> {
  const { signal } = session;
  const live = terminal.outScreen() !== undefined && !json ? new LiveTable(terminal) : undefined;
  const print = (line: string) => {
    live?.clear();
    printLine(terminal, line);
  };
  const lastLines = new Map<string, string>();
  const notes = new Set<string>();
  let rows: JobRow[] | undefined;
  let silentSince: string | undefined;
  while (!signal.aborted && !terminal.isOutClosed()) {
    try {
      rows = await abortable(session, read);
      if (silentSince !== undefined) print('Temporal answers again.');
      silentSince = undefined;
    } catch (error) {
      if (signal.aborted) break;
      // A first answer that is an error is the caller's.
      if (rows === undefined) throw error;
      if (silentSince === undefined) {
        silentSince = new Date().toISOString();
        print(
          `Temporal does not answer since ${silentSince} (${reasonOf(error)}). Trying again; Ctrl-C stops.`,
        );
      }
    }
    for (const note of rows.flatMap(notesOn)) {
      if (!notes.has(note)) print(note);
      notes.add(note);
    }
    if (live) drawRows(live, rows, terminal);
    else printChanges(rows, lastLines, terminal);
    if (silentSince === undefined && isOver(rows)) return rows;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
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
  return messageOf(error instanceof Error ? (error.cause ?? error) : error);
}

function drawRows(live: LiveTable, rows: readonly JobRow[], terminal: Terminal): void {
  const screen = terminal.outScreen();
  if (screen === undefined) return;
  // One for the titles, one for the count, one for the cursor.
  const most = Math.max(1, screen.rows - 3);
  const first = rows.length > most ? runningFirst(rows).slice(0, most) : rows;
  live.draw([...rowLines(first, screen.columns - 1), ...moreLine(rows.length - first.length)]);
}

export function rowLines(rows: readonly JobRow[], columns: number): Piece[][] {
  return tableLines(jobColumns(Date.now()), rows, columns);
}

const moreLine = (more: number): Piece[][] =>
  more > 0 ? [[{ text: `and ${more} more`, colour: 'dim' }]] : [];

function runningFirst(rows: readonly JobRow[]): JobRow[] {
  const isRunning = ({ endedAt }: JobRow) => endedAt === undefined;
  return [...rows.filter(isRunning), ...rows.filter((row) => !isRunning(row))];
}

function printChanges(rows: readonly JobRow[], lastLines: Map<string, string>, terminal: Terminal): void {
  for (const row of rows) {
    const line = printableJson(row);
    if (lastLines.get(row.workflowId) !== line) terminal.out(line);
    lastLines.set(row.workflowId, line);
  }
}
