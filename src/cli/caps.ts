import { queuesWithLedger, readLedger } from '../client/read-ledger';
import { inTime } from '../client/temporal-calls';
import { describeAmount, describeUse } from '../contract/caps';
import { printableJson, shown } from '../contract/clean-text';
import type { LedgerCount, LedgerReport } from '../contract/ledger';
import { whyNotDecrypted } from '../encryption/not-decrypted';
import { EXIT } from './exit-codes';
import { type JobsSession, withJobs } from './open-jobs';
import { printLine, type Terminal } from './terminal';
import { type Column, tableLines } from './text-columns';

/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 5_000;
const NONE =
  'Nothing is counted: no worker with caps has submitted anything today. VIDEOGEN_CAPS sets the caps of a worker.';

/** `videogen spend --caps`: each cap, what was used and reserved of it, and what is left. */
export async function caps(options: { json?: boolean }, terminal: Terminal): Promise<number> {
  return await withJobs(terminal, {
    // The one that answers.
    withWorker: true,
    run: (session) => printCaps(session, options, terminal),
    withoutJobs: () => {
      printLine(terminal, NONE);
      return EXIT.ok;
    },
  });
}

interface QueueReport extends LedgerReport {
  taskQueue: string;
}

async function printCaps(
  { client }: JobsSession,
  { json }: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const reports: QueueReport[] = [];
  for (const taskQueue of await queuesWithLedger(client)) {
    let why = 'no worker answers.';
    const report = await inTime(client, () => readLedger(client, taskQueue), QUERY_WITHIN_MS).catch(
      (error: unknown) => {
        why = whyNotDecrypted(error) ?? why;
        return undefined;
      },
    );
    if (report) reports.push({ taskQueue, ...report });
    else printLine(terminal, `The caps of task queue ${shown(taskQueue)} are not known: ${why}`);
  }
  if (json) {
    terminal.out(printableJson({ queues: reports }));
    return EXIT.ok;
  }
  if (reports.length === 0) printLine(terminal, NONE);
  for (const { taskQueue, day, counts } of reports) {
    printLine(terminal, `Task queue ${shown(taskQueue)} on ${day} (UTC):`);
    const lines = tableLines(COLUMNS, counts.flatMap(rowsOf), terminal.outScreen()?.columns ?? WIDE);
    for (const line of lines) terminal.outLine(line);
  }
  return EXIT.ok;
}

const WIDE = 200;

interface CapRow extends ReturnType<typeof describeUse> {
  whose: string;
  limit: string;
  resetsAt: string;
}

/** One row for each limit that is set. */
function rowsOf({ scope, name, limits, used, reserved, resetsAt = '' }: LedgerCount): CapRow[] {
  const whose = name === undefined ? scope : `${scope} ${shown(name)}`;
  return limits.map((limit) => ({
    whose,
    limit: describeAmount(limit.limit, limit.unit),
    ...describeUse(limit, used, reserved),
    resetsAt,
  }));
}

const COLUMNS: Column<CapRow>[] = [
  { title: 'CAP', text: ({ whose }) => whose, leastWidth: 8 },
  { title: 'LIMIT', text: ({ limit }) => limit },
  { title: 'LEFT', text: ({ left }) => left, colour: ({ isReached }) => (isReached ? 'red' : undefined) },
  { title: 'USED', text: ({ used }) => used },
  { title: 'RESERVED', text: ({ reserved }) => reserved },
  { title: 'RESETS', text: ({ resetsAt }) => resetsAt },
];
