import { dirname } from 'node:path/posix';
import { askWorker } from '../client/temporal-calls';
import { readStorageConfig } from '../config/storage-config';
import { readTemporalConfig } from '../config/temporal-config';
import { dayOf, describeCount, type LedgerReport } from '../contract/caps';
import { printableJson, shown } from '../contract/clean-text';
import { chargesOf, mergeCosts, withLostSubmits } from '../contract/job-cost';
import { describeMoney, type Money, type MoneySum, sumOf } from '../contract/money';
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
import { readSince } from './list';
import { type JobsSession, withJobs } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';
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
  const storage = createStorage(readStorageConfig(terminal.env));
  const { videos, damaged } = await readPaidVideos(storage, namespace, since);
  for (const key of damaged) printLine(terminal, `${key} is damaged and was skipped.`);
  const total = addUp('total', videos);
  const by = Object.fromEntries(DIVISIONS.map((division) => [division, groupBy(division, videos)]));
  const tables = Object.entries(by).map(([division, groups]) =>
    tableLines(columnsFor(division), [...groups, total]).join('\n'),
  );
  const asJson = options.json || !terminal.isOutTerminal;
  terminal.out(asJson ? printableJson({ since, ...total, by }) : tables.join('\n\n'));
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

function columnsFor(division: string): Column<SpentGroup>[] {
  const amounts = (sums: MoneySum['sums']) => sums.map(describeMoney).join(' + ');
  return [
    { title: division.toUpperCase(), text: ({ name }) => shown(name) },
    { title: 'VIDEOS', text: ({ videos }) => String(videos) },
    { title: 'CHARGED', text: ({ charged }) => amounts(charged) },
    { title: 'ESTIMATED', text: ({ estimated }) => amounts(estimated) },
    { title: 'UNKNOWN', text: ({ unknown }) => (unknown === 0 ? '' : String(unknown)) },
  ];
}

/** A video that was paid for, or may have been. Without a service or a caller it is in the group `-`. */
interface PaidVideo {
  service: string;
  caller: string;
  day: string;
  /** Undefined if it is unknown. */
  cost: Money | undefined;
  isCharged: boolean;
}

const DIVISIONS = ['service', 'caller', 'day'] as const;

function groupBy(division: (typeof DIVISIONS)[number], videos: readonly PaidVideo[]): SpentGroup[] {
  const names = [...new Set(videos.map((video) => video[division]))].sort();
  return names.map((name) =>
    addUp(
      name,
      videos.filter((video) => video[division] === name),
    ),
  );
}

function addUp(name: string, videos: readonly PaidVideo[]): SpentGroup {
  const sumWhere = (isCharged: boolean) =>
    sumOf(videos.filter((video) => video.isCharged === isCharged).map(({ cost }) => cost));
  const { sums: estimated, unknown } = sumWhere(false);
  return { name, videos: videos.length, charged: sumWhere(true).sums, estimated, unknown };
}

/** The videos of a namespace that were submitted since a time: each task once, and each lost submit, which may have been paid for. */
async function readPaidVideos(storage: VideoStorage, namespace: string, since: Date) {
  const videos: PaidVideo[] = [];
  const damaged: string[] = [];
  const tasks = new Set<string>();
  const read = async (key: string) => {
    const record = await readRecordAt(storage, key).catch((error: unknown) => {
      if (!(error instanceof DamagedEntry)) throw error;
      damaged.push(key);
    });
    const { taskId } = record?.task ?? {};
    const at = record?.lastSend?.at ?? record?.entries[0]?.at ?? '';
    if (record?.entries[0]?.namespace !== namespace || !(new Date(at) >= since)) return;
    if (taskId !== undefined && tasks.has(taskId)) return;
    if (taskId !== undefined) tasks.add(taskId);
    videos.push(...paidVideosOf(record, at));
  };
  const keys: string[] = [];
  // None is read while the list goes on: nobody would wait for it, and its error would end the process.
  const readAll = () => Promise.all(keys.splice(0).map(read));
  for await (const key of recordsIn(storage, since)) {
    keys.push(key);
    if (keys.length === READS_AT_ONCE) await readAll();
  }
  await readAll();
  return { videos, damaged };
}

/** The first entry of each record. A record without an entry since then is of a job that was submitted before. */
async function* recordsIn(storage: VideoStorage, since: Date): AsyncGenerator<string> {
  let first: string | undefined;
  for await (const { key, storedAt } of storage.list?.(RECORD_FOLDER) ?? []) {
    if (recordOfKey(key)) first = key;
    if (first === undefined || storedAt < since || dirname(key) !== dirname(first)) continue;
    yield first;
    first = undefined;
  }
}

function paidVideosOf(
  { entries: [first], task, stored, lastSend, paidSends }: RecordedJob,
  at: string,
): PaidVideo[] {
  if (task === undefined && paidSends.length === 0) return [];
  const known = mergeCosts(lastSend?.cost, mergeCosts(task?.cost, stored?.cost));
  const cost = withLostSubmits(known, paidSends.length - (task === undefined ? 0 : 1));
  const service = cost?.service ?? task?.service ?? lastSend?.service ?? '-';
  const caller = callerOfWorkflow(first?.job ?? '') ?? '-';
  return chargesOf(cost, task !== undefined).map((charge) => {
    const isCharged = charge !== undefined && charge === cost?.charged;
    return { service, caller, day: dayOf(Date.parse(at)), cost: charge, isCharged };
  });
}

/** `videogen spend --caps`: each cap, what was used and reserved of it, and what is left. */
async function printCaps(
  { client }: JobsSession,
  { json }: SpendOptions,
  terminal: Terminal,
): Promise<number> {
  const queues: (LedgerReport & { taskQueue: string })[] = [];
  const query = `WorkflowType = '${LEDGER_WORKFLOW_TYPE}' AND CloseTime IS NULL`;
  for await (const { taskQueue, workflowId } of client.workflow.list({ query })) {
    const ask = () => client.workflow.getHandle(workflowId).query<LedgerReport>(LEDGER_QUERY);
    try {
      queues.push({ taskQueue, ...ofToday(await askWorker(client, ask)) });
    } catch (error) {
      const why = whyNotDecrypted(error) ?? 'no worker answers.';
      printLine(terminal, `The caps of task queue ${shown(taskQueue)} are not known: ${why}`);
    }
  }
  if (json) terminal.out(printableJson({ queues }));
  else if (queues.length === 0)
    printLine(terminal, 'Nothing is counted. VIDEOGEN_CAPS sets the caps of a worker.');
  else
    for (const { taskQueue, counts } of queues) {
      terminal.out(`Task queue ${shown(taskQueue)}:`);
      for (const count of counts) {
        const reset = count.resetsAt === undefined ? '' : `; it resets at ${count.resetsAt}`;
        for (const line of describeCount(count)) terminal.out(`  ${shown(line)}${reset}`);
      }
    }
  return EXIT.ok;
}

/** Only the counts of batches are left of a day that has ended. */
function ofToday({ day, counts }: LedgerReport): LedgerReport {
  const isOver = day < dayOf(Date.now());
  return { day, counts: isOver ? counts.filter(({ scope }) => scope === 'batch') : counts };
}
