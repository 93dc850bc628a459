import type { ListOptions } from '../client/list-jobs';
import { type JobOverview, OVERVIEW_STATES } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { printableJson } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { isFailureType } from '../contract/failure-table';
import { jobTable } from './job-lines';
import { type JobsSession, withJobs } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

interface ListCommandOptions {
  state?: string[];
  failure?: string[];
  since?: string;
  batch?: string;
  limit: string;
  json?: boolean;
}

const MOST_LISTED = 10_000;

/** `videogen list`: the jobs and batches of the namespace, newest first. It asks no worker. */
export async function list(options: ListCommandOptions, terminal: Terminal): Promise<number> {
  const wanted = readFilters(options);
  return await withJobs(terminal, {
    run: (session) => printList(session, wanted, options, terminal),
    withoutJobs: () => {
      // Someone who forgot the address of the right Temporal must not take this for good news.
      printLine(
        terminal,
        'There are no jobs on this machine yet. To list those of another Temporal server, set TEMPORAL_ADDRESS.',
      );
      return EXIT.ok;
    },
  });
}

async function printList(
  { videos }: JobsSession,
  wanted: ListOptions & { limit: number },
  options: ListCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const asJson = options.json || !terminal.isOutTerminal;
  const listed: JobOverview[] = [];
  // One more than wanted shows that there are more.
  for await (const job of videos.list({ ...wanted, limit: wanted.limit + 1 })) {
    if (terminal.isOutClosed()) return EXIT.ok;
    if (listed.length < wanted.limit && asJson) terminal.out(printableJson(job));
    listed.push(job);
  }
  const rows = listed.slice(0, wanted.limit);
  if (rows.length === 0) printLine(terminal, 'There are no such jobs.');
  else if (!asJson) terminal.out(jobTable(rows).join('\n'));
  if (listed.length > rows.length)
    printLine(terminal, `These are the newest ${rows.length}; there are more: raise --limit.`);
  return EXIT.ok;
}

/** The options of the command as those of the client. */
function readFilters({ state, failure, since, batch, limit }: ListCommandOptions) {
  if (!/^[1-9]\d*$/.test(limit) || Number(limit) > MOST_LISTED)
    throw new ConfigError(
      `--limit is ${JSON.stringify(limit)}: give a whole number from 1 to ${MOST_LISTED}.`,
    );
  return {
    ...(state && { states: OVERVIEW_STATES.filter((one) => state.includes(one)) }),
    ...(failure && { failures: failure.filter(isFailureType) }),
    ...(since !== undefined && { since: readSince(since) }),
    ...(batch !== undefined && { batch }),
    limit: Number(limit),
  };
}

/** `--since`: a duration before now, or a date. */
export function readSince(given: string): Date {
  const ago = durationMs(given);
  const time = ago === undefined ? new Date(given) : new Date(Date.now() - ago);
  if (/\d/.test(given) && !Number.isNaN(time.getTime()) && time.getFullYear() > 0) return time;
  throw new ConfigError(
    `--since is ${JSON.stringify(given)}: give a time such as 2h or 7d, or a date such as 2026-11-16.`,
  );
}
