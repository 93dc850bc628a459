import { type Period, paidJobs } from '../client/paid-jobs';
import { ConfigError } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import { printableJson } from '../contract/clean-text';
import { callerOf } from '../gateway/task-names';
import { createStorage, storageAddress } from '../storage';
import { caps } from './caps';
import { messageOf } from './doctor/described-error';
import { EXIT, reportError } from './exit-codes';
import { readTime } from './list';
import { type JobsSession, withJobs } from './open-jobs';
import type { SpendOptions } from './options';
import { recordedJobs } from './spend/record-costs';
import { DIVISIONS, SpendBook } from './spend/spend-book';
import { spendSentence, spendTable } from './spend/spend-tables';
import { printLine, type Terminal } from './terminal';

/** The rest is counted. */
const MOST_DAMAGED_NAMED = 20;

/** `videogen spend`: what jobs cost, from Temporal and from the records in the storage, each job once. */
export async function spend(options: SpendOptions, terminal: Terminal): Promise<number> {
  if (options.caps) return caps(options, terminal);
  try {
    const period = readPeriod(options, Date.now());
    return await withJobs(terminal, {
      run: async (session) => {
        const book = new SpendBook();
        const isComplete = await collect(session, period, book, terminal);
        print(book, { ...options, period, isComplete }, terminal);
        return EXIT.ok;
      },
      withoutJobs: () => {
        printLine(terminal, NONE_HERE);
        return EXIT.ok;
      },
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

const NONE_HERE =
  'There are no jobs on this machine yet. To add up those of another Temporal server, set TEMPORAL_ADDRESS.';

export function readPeriod({ since, until }: Pick<SpendOptions, 'since' | 'until'>, nowMs: number): Period {
  const period = {
    since: readTime('--since', since, nowMs),
    until: until === undefined ? new Date(nowMs) : readTime('--until', until, nowMs),
  };
  if (period.since < period.until) return period;
  throw new ConfigError(`--since is ${JSON.stringify(since)}, which is not before the end of the time.`);
}

/** Returns whether everything could be read. */
async function collect(
  session: JobsSession,
  period: Period,
  book: SpendBook,
  terminal: Terminal,
): Promise<boolean> {
  const { client } = session;
  for await (const job of paidJobs(client, period)) book.add({ ...job, caller: callerOf(job.name) });
  const problem = await collectRecords(session, period, book, terminal);
  if (problem === undefined) return true;
  printLine(terminal, `${problem} Jobs that Temporal has forgotten are missing.`);
  return false;
}

/** Returns why the storage cannot be read, if it cannot. */
async function collectRecords(
  { client }: JobsSession,
  period: Period,
  book: SpendBook,
  terminal: Terminal,
): Promise<string | undefined> {
  const config = readStorageConfig(terminal.env);
  let damaged = 0;
  const onDamaged = (key: string) => {
    if (++damaged <= MOST_DAMAGED_NAMED) printLine(terminal, `${key} is damaged and was skipped.`);
  };
  try {
    const { namespace } = client.options;
    const records = recordedJobs({ storage: createStorage(config), namespace, period, onDamaged });
    if (records === undefined) return 'The storage cannot list its files.';
    for await (const job of records) book.add({ ...job, caller: callerOf(job.name) });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return `The storage ${storageAddress(config)} cannot be read (${messageOf(error)}).`;
  }
  const more = damaged - MOST_DAMAGED_NAMED;
  if (more > 0) printLine(terminal, `${more} more records are damaged and were skipped.`);
  return undefined;
}

interface Answer extends SpendOptions {
  period: Period;
  isComplete: boolean;
}

function print(book: SpendBook, { json, by, period, isComplete }: Answer, terminal: Terminal): void {
  const total = book.total();
  const divisions = by === undefined ? DIVISIONS : DIVISIONS.filter((division) => division === by);
  const screen = json ? undefined : terminal.outScreen();
  if (screen === undefined) {
    const groups = Object.fromEntries(divisions.map((division) => [division, book.by(division)]));
    terminal.out(printableJson({ ...period, ...total, by: groups, isComplete }));
    return;
  }
  terminal.out(spendSentence(total));
  if (total.videos === 0) return;
  for (const division of divisions) {
    terminal.out('');
    const lines = spendTable(division, book.by(division), total, screen.columns);
    for (const line of lines) terminal.outLine(line);
  }
}
