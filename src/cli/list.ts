import type { ListOptions } from '../client/list-jobs';
import { type JobOverview, OVERVIEW_STATES } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { printableJson } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { isFailureType } from '../contract/failure-table';
import { EXIT, reportError } from './exit-codes';
import { type JobsSession, withJobs } from './open-jobs';
import type { ListCommandOptions } from './options';
import { withoutColours } from './table';
import { printLine, type Terminal, usesColours } from './terminal';
import { rowLines, watchRows } from './watch-rows';

/** A list is many calls to Temporal. */
const LIST_EVERY_MS = 2_000;
const MOST_LISTED = 10_000;
/** Who forgot the address of the right Temporal must not take this for good news. */
const NONE_HERE =
  'There are no jobs on this machine yet. To list those of another Temporal server, set TEMPORAL_ADDRESS.';

/** `videogen list`: the jobs and batches of the namespace, newest first. It asks no worker. */
export async function list(options: ListCommandOptions, terminal: Terminal): Promise<number> {
  try {
    const wanted = readFilters(options, Date.now());
    return await withJobs(terminal, {
      withWorker: options.watch,
      run: (session) =>
        options.watch ? watchList(session, options, terminal) : printList(session, wanted, options, terminal),
      withoutJobs: () => {
        printLine(terminal, NONE_HERE);
        return EXIT.ok;
      },
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
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
  if (listed.length === 0) return sayNone(options, terminal);
  const shown = listed.slice(0, wanted.limit);
  if (screen !== undefined) {
    const lines = rowLines(shown, screen.columns);
    for (const line of usesColours(terminal) ? lines : withoutColours(lines)) terminal.outLine(line);
  }
  if (listed.length > shown.length) {
    printLine(terminal, `These are the newest ${shown.length}; there are more: raise --limit.`);
  }
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
    isOver: () => false,
  });
  return terminal.isOutClosed() ? EXIT.ok : EXIT.interrupted;
}

function sayNone({ state, failure, since, batch }: ListCommandOptions, terminal: Terminal): number {
  const isFiltered =
    state !== undefined || failure !== undefined || since !== undefined || batch !== undefined;
  printLine(terminal, isFiltered ? 'No job fits these options.' : 'There are no jobs yet.');
  return EXIT.ok;
}

/** The options of the command as those of the client. */
export function readFilters(
  { state, failure, since, batch, limit }: ListCommandOptions,
  nowMs: number,
): ListOptions & { limit: number } {
  return {
    ...(state && { states: OVERVIEW_STATES.filter((one) => state.includes(one)) }),
    ...(failure && { failures: failure.filter(isFailureType) }),
    ...(since !== undefined && { since: readTime('--since', since, nowMs) }),
    ...(batch !== undefined && { batch }),
    limit: readLimit(limit),
  };
}

/** A time that an option gives: so long ago, or a date. */
export function readTime(option: string, given: string, nowMs: number): Date {
  const ago = durationMs(given);
  const time = ago === undefined ? new Date(given) : new Date(nowMs - ago);
  if (/\d/.test(given) && !Number.isNaN(time.getTime()) && time.getFullYear() > 0) return time;
  throw new ConfigError(
    `${option} is ${JSON.stringify(given)}: give a time such as 2h or 7d, or a date such as 2026-11-16.`,
  );
}

function readLimit(given: string): number {
  if (/^[1-9]\d*$/.test(given) && Number(given) <= MOST_LISTED) return Number(given);
  throw new ConfigError(`--limit is ${JSON.stringify(given)}: give a whole number from 1 to ${MOST_LISTED}.`);
}
