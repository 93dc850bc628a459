import type { ListOptions } from '../client/list-jobs';
import { type JobOverview, OVERVIEW_STATES, type OverviewState } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { isFailureType } from '../contract/failure-table';
import { chargesOf } from '../contract/job-cost';
import { describeSum, sumOf } from '../contract/money';
import { EXIT } from './exit-codes';
import { watchRows } from './live-view';
import { type JobsSession, withJobs } from './open-jobs';
import { ageText, type JobRow, phaseText } from './progress-lines';
import { printLine, type Screen, type Terminal } from './terminal';
import { type Colour, type Column, type Piece, tableLines } from './text-columns';

export interface ListCommandOptions {
  state?: string[];
  failure?: string[];
  since?: string;
  batch?: string;
  limit: string;
  watch?: boolean;
  json?: boolean;
}

/** A list is many calls to Temporal. */
const LIST_EVERY_MS = 2_000;
const MOST_LISTED = 10_000;

/** `videogen list`: the jobs and batches of the namespace, newest first. It asks no worker. */
export async function list(options: ListCommandOptions, terminal: Terminal): Promise<number> {
  const wanted = readFilters(options, Date.now());
  return await withJobs(terminal, {
    withWorker: options.watch,
    run: (session) =>
      options.watch ? watchList(session, options, terminal) : printList(session, wanted, options, terminal),
    withoutJobs: () => sayNoneHere('list', terminal),
  });
}

/** Someone who forgot the address of the right Temporal must not take this for good news. */
export function sayNoneHere(what: string, terminal: Terminal): number {
  printLine(
    terminal,
    `There are no jobs on this machine yet. To ${what} those of another Temporal server, set TEMPORAL_ADDRESS.`,
  );
  return EXIT.ok;
}

async function printList(
  { videos }: JobsSession,
  wanted: ListOptions & { limit: number },
  options: ListCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const screen = options.json ? undefined : terminal.outScreen();
  const listed: JobOverview[] = [];
  // One more than wanted shows that there are more.
  for await (const job of videos.list({ ...wanted, limit: wanted.limit + 1 })) {
    if (terminal.isOutClosed()) return EXIT.ok;
    if (listed.length < wanted.limit && screen === undefined) terminal.out(printableJson(job));
    listed.push(job);
  }
  if (listed.length === 0) {
    const { state, failure, since, batch } = options;
    const isFiltered = [state, failure, since, batch].some((filter) => filter !== undefined);
    printLine(terminal, isFiltered ? 'No job fits these options.' : 'There are no jobs yet.');
    return EXIT.ok;
  }
  const rows = listed.slice(0, wanted.limit);
  if (screen) for (const line of jobLines(rows, screen.columns)) terminal.outLine(line);
  if (listed.length > rows.length)
    printLine(terminal, `These are the newest ${rows.length}; there are more: raise --limit.`);
  return EXIT.ok;
}

async function watchList(
  session: JobsSession,
  options: ListCommandOptions,
  terminal: Terminal,
): Promise<number> {
  await watchRows(session, terminal, {
    everyMs: LIST_EVERY_MS,
    json: options.json,
    read: async () => {
      const rows: JobOverview[] = [];
      // A duration counts from now, again and again.
      for await (const job of session.videos.list(readFilters(options, Date.now()))) rows.push(job);
      return rows;
    },
    lines: fittingLines,
    isOver: () => false,
  });
  return terminal.isOutClosed() ? EXIT.ok : EXIT.interrupted;
}

/** A table of as many jobs as fit, those that run first. */
export function fittingLines(rows: readonly JobRow[], screen: Screen): Piece[][] {
  // One row for the titles, one for the count.
  const most = Math.max(1, screen.rows - 2);
  if (rows.length <= most) return jobLines(rows, screen.columns);
  const runs = ({ endedAt }: JobRow) => endedAt === undefined;
  const first = [...rows.filter(runs), ...rows.filter((row) => !runs(row))].slice(0, most);
  const more: Piece = { text: `and ${rows.length - first.length} more`, colour: 'dim' };
  return [...jobLines(first, screen.columns), [more]];
}

const COLOURS: Record<OverviewState, Colour | undefined> = {
  running: 'cyan',
  'needs-decision': 'yellow',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'dim',
};

export function jobLines(rows: readonly JobRow[], width: number, nowMs = Date.now()): Piece[][] {
  const columns: Column<JobRow>[] = [
    { title: 'NAME', text: ({ workflowId }) => shown(workflowId), leastWidth: 12 },
    { title: 'STATE', text: ({ state }) => state, colour: ({ state }) => COLOURS[state] },
    { title: 'AGE', text: ({ startedAt }) => ageText(nowMs - Date.parse(startedAt)) },
    { title: 'PHASE', text: (row) => phaseText(row, nowMs), leastWidth: 10 },
    { title: 'TASK', text: ({ taskId = '' }) => shown(taskId), leastWidth: 8 },
    { title: 'COST', text: costText },
    { title: 'SERVICE', text: ({ service = '' }) => shown(service), leastWidth: 8 },
  ];
  return tableLines(columns, rows, width);
}

/** What was charged, or else the estimate, and what lost submits may have cost. */
function costText({ cost, progress }: JobRow): string {
  const sum = sumOf(chargesOf(progress?.cost ?? cost));
  return sum.sums.length > 0 ? describeSum(sum) : '';
}

/** The options of the command as those of the client. */
export function readFilters(
  { state, failure, since, batch, limit }: ListCommandOptions,
  nowMs: number,
): ListOptions & { limit: number } {
  const isNumber = /^[1-9]\d*$/.test(limit) && Number(limit) <= MOST_LISTED;
  if (!isNumber)
    throw new ConfigError(
      `--limit is ${JSON.stringify(limit)}: give a whole number from 1 to ${MOST_LISTED}.`,
    );
  return {
    ...(state && { states: OVERVIEW_STATES.filter((one) => state.includes(one)) }),
    ...(failure && { failures: failure.filter(isFailureType) }),
    ...(since !== undefined && { since: readTime('--since', since, nowMs) }),
    ...(batch !== undefined && { batch }),
    limit: Number(limit),
  };
}

/** A time that an option gives: a duration before now, or a date. */
export function readTime(option: string, given: string, nowMs: number): Date {
  const ago = durationMs(given);
  const time = ago === undefined ? new Date(given) : new Date(nowMs - ago);
  if (/\d/.test(given) && !Number.isNaN(time.getTime()) && time.getFullYear() > 0) return time;
  throw new ConfigError(
    `${option} is ${JSON.stringify(given)}: give a time such as 2h or 7d, or a date such as 2026-11-16.`,
  );
}
