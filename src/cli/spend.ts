import { dirname } from 'node:path/posix';
import { inTime } from '../client/temporal-calls';
import { readStorageConfig } from '../config/storage-config';
import { readTemporalConfig } from '../config/temporal-config';
import { describeAmount, describeUse } from '../contract/caps';
import { printableJson, shown } from '../contract/clean-text';
import { chargesOf, mergeCosts, withLostSubmits } from '../contract/job-cost';
import { dayOf, type LedgerReport } from '../contract/ledger';
import { addSums, describeMoney, type MoneySum, sumOf } from '../contract/money';
import { LEDGER_QUERY, LEDGER_WORKFLOW_TYPE } from '../contract/names';
import { whyNotDecrypted } from '../encryption/not-decrypted';
import { callerOfWorkflow } from '../gateway/task-names';
import {
  createStorage,
  DamagedEntry,
  RECORD_FOLDER,
  type RecordedJob,
  readRecordAt,
  recordOfKey,
  type VideoStorage,
} from '../storage';
import { EXIT } from './exit-codes';
import { readSince } from './list';
import { type JobsSession, withJobs } from './open-jobs';
import { printLine, type Terminal } from './terminal';
import { type Column, tableLines } from './text-table';

interface SpendOptions {
  since: string;
  caps?: boolean;
  json?: boolean;
}

/** A storage far away answers each read in a tenth of a second. */
const READS_AT_ONCE = 16;

/** `videogen spend`: what jobs cost, by the records in the storage. It asks neither Temporal nor a worker. */
export async function spend(options: SpendOptions, terminal: Terminal): Promise<number> {
  if (options.caps) {
    const run = (session: JobsSession) => printCaps(session, options, terminal);
    return await withJobs(terminal, { withWorker: true, run });
  }
  const since = readSince(options.since);
  const { namespace = 'default' } = readTemporalConfig(terminal.env);
  const spending = new Spending(namespace, since);
  for await (const key of spending.read(createStorage(readStorageConfig(terminal.env))))
    printLine(terminal, `${key} is damaged and was skipped.`);
  const { total, by } = spending;
  const tables = Object.entries(by).map(([division, groups]) => ({
    division,
    groups: [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  }));
  const screen = options.json ? undefined : terminal.outScreen();
  if (screen === undefined) {
    const groupsBy = Object.fromEntries(tables.map(({ division, groups }) => [division, groups]));
    terminal.out(printableJson({ since, ...total, by: groupsBy }));
  } else {
    const lines = tables.map(({ division, groups }) =>
      tableLines(columnsFor(division), [...groups, total], screen),
    );
    terminal.outTable(lines.flatMap((table, index) => (index === 0 ? table : ['', ...table])));
  }
  return EXIT.ok;
}

/** The sums of one group. Currencies are never mixed, and each video is in exactly one of the three. */
interface SpentGroup {
  name: string;
  videos: number;
  /** Of jobs whose service said what it charged. */
  charged: MoneySum['sums'];
  /** Of jobs for which only the prices of the profile are known. */
  estimated: MoneySum['sums'];
  /** How many have an unknown cost: they are in no sum. */
  unknown: number;
}

const groupOf = (name: string): SpentGroup => ({ name, videos: 0, charged: [], estimated: [], unknown: 0 });

function columnsFor(division: string): Column<SpentGroup>[] {
  const amounts = (sums: MoneySum['sums']) => sums.map(describeMoney).join(' + ');
  return [
    { title: division.toUpperCase(), text: ({ name }) => shown(name), leastWidth: 10 },
    { title: 'VIDEOS', text: ({ videos }) => String(videos) },
    { title: 'CHARGED', text: ({ charged }) => amounts(charged) },
    { title: 'ESTIMATED', text: ({ estimated }) => amounts(estimated) },
    { title: 'UNKNOWN', text: ({ unknown }) => (unknown === 0 ? '' : String(unknown)) },
  ];
}

/** Adds up the records of a namespace since a time: each task once, and each lost submit, which may have been paid for. */
export class Spending {
  readonly total = groupOf('total');
  /** A job without a service or a caller is in the group `-`. */
  readonly by = {
    service: new Map<string, SpentGroup>(),
    caller: new Map<string, SpentGroup>(),
    day: new Map<string, SpentGroup>(),
  };
  private readonly tasks = new Set<string>();

  constructor(
    private readonly namespace: string,
    private readonly since: Date,
  ) {}

  /** Yields the keys of damaged records. */
  async *read(storage: VideoStorage): AsyncGenerator<string> {
    let keys: string[] = [];
    const readAll = async () => {
      const read = keys.map((key) => this.readRecord(storage, key));
      keys = [];
      return (await Promise.all(read)).filter((key) => key !== undefined);
    };
    for await (const key of this.recordsIn(storage)) {
      keys.push(key);
      if (keys.length === READS_AT_ONCE) yield* await readAll();
    }
    yield* await readAll();
  }

  /** The first entry of each record. A record without an entry since then is of a job that was submitted before. */
  private async *recordsIn(storage: VideoStorage): AsyncGenerator<string> {
    let first: string | undefined;
    for await (const { key, storedAt } of storage.list?.(RECORD_FOLDER) ?? []) {
      if (recordOfKey(key)) first = key;
      if (first === undefined || storedAt < this.since || dirname(key) !== dirname(first)) continue;
      yield first;
      first = undefined;
    }
  }

  private async readRecord(storage: VideoStorage, key: string): Promise<string | undefined> {
    try {
      this.add(await readRecordAt(storage, key));
      return undefined;
    } catch (error) {
      if (error instanceof DamagedEntry) return key;
      throw error;
    }
  }

  private add({ entries: [first], task, stored, lastSend, paidSends }: RecordedJob): void {
    const at = lastSend?.at ?? first?.at ?? '';
    if (first?.namespace !== this.namespace || !(new Date(at) >= this.since)) return;
    if (task === undefined && paidSends.length === 0) return;
    if (task !== undefined && this.tasks.has(task.taskId)) return;
    if (task !== undefined) this.tasks.add(task.taskId);
    const known = mergeCosts(lastSend?.cost, mergeCosts(task?.cost, stored?.cost));
    const cost = withLostSubmits(known, paidSends.length - (task === undefined ? 0 : 1));
    const charges = chargesOf(cost, task !== undefined);
    const names = {
      service: cost?.service ?? task?.service ?? lastSend?.service ?? '-',
      caller: callerOfWorkflow(first.job) ?? '-',
      day: dayOf(Date.parse(at)),
    };
    const groups = (['service', 'caller', 'day'] as const).map((division) => {
      const group = this.by[division].get(names[division]) ?? groupOf(names[division]);
      this.by[division].set(group.name, group);
      return group;
    });
    for (const group of [this.total, ...groups]) {
      group.videos += charges.length;
      for (const charge of charges) {
        const into = charge !== undefined && charge === cost?.charged ? 'charged' : 'estimated';
        const { sums, unknown } = addSums({ sums: group[into], unknown: 0 }, sumOf([charge]));
        group[into] = sums;
        group.unknown += unknown;
      }
    }
  }
}

/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 5_000;
const WIDE = { columns: 200 };

/** `videogen spend --caps`: each cap, what was used and reserved of it, and what is left. */
async function printCaps(
  { client }: JobsSession,
  { json }: SpendOptions,
  terminal: Terminal,
): Promise<number> {
  const queues: (LedgerReport & { taskQueue: string })[] = [];
  const query = `WorkflowType = '${LEDGER_WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
  for await (const { taskQueue, workflowId } of client.workflow.list({ query })) {
    const ask = () => client.workflow.getHandle(workflowId).query<LedgerReport>(LEDGER_QUERY);
    try {
      queues.push({ taskQueue, ...ofToday(await inTime(client, ask, QUERY_WITHIN_MS)) });
    } catch (error) {
      const why = whyNotDecrypted(error) ?? 'no worker answers.';
      printLine(terminal, `The caps of task queue ${shown(taskQueue)} are not known: ${why}`);
    }
  }
  if (json) terminal.out(printableJson({ queues }));
  else if (queues.length === 0)
    printLine(terminal, 'Nothing is counted. VIDEOGEN_CAPS sets the caps of a worker.');
  else {
    const rows = queues.flatMap(({ taskQueue, counts }) =>
      counts.flatMap(({ scope, name, limits, used, reserved, resetsAt = '' }) =>
        limits.map((limit) => ({
          taskQueue,
          cap: name === undefined ? scope : `${scope} ${shown(name)}`,
          limit: describeAmount(limit.limit, limit.unit),
          ...describeUse(limit, used, reserved),
          resetsAt,
        })),
      ),
    );
    terminal.outTable(tableLines(CAP_COLUMNS, rows, terminal.outScreen() ?? WIDE));
  }
  return EXIT.ok;
}

/** Of a day that has ended only the counts of batches are left. */
function ofToday({ day, counts }: LedgerReport): LedgerReport {
  const isOver = day < dayOf(Date.now());
  return { day, counts: isOver ? counts.filter(({ scope }) => scope === 'batch') : counts };
}

interface CapRow extends ReturnType<typeof describeUse> {
  taskQueue: string;
  cap: string;
  limit: string;
  resetsAt: string;
}

const CAP_COLUMNS: Column<CapRow>[] = [
  { title: 'CAP', text: ({ cap }) => cap, leastWidth: 8 },
  { title: 'LIMIT', text: ({ limit }) => limit },
  { title: 'LEFT', text: ({ left }) => left, colour: ({ isReached }) => (isReached ? 'red' : undefined) },
  { title: 'USED', text: ({ used }) => used },
  { title: 'RESERVED', text: ({ reserved }) => reserved },
  { title: 'RESETS', text: ({ resetsAt }) => resetsAt },
  { title: 'QUEUE', text: ({ taskQueue }) => shown(taskQueue), leastWidth: 8 },
];
