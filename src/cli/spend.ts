import { dirname } from 'node:path/posix';
import { type Period, paidJobs } from '../client/paid-jobs';
import { ConfigError } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import { printableJson, shown } from '../contract/clean-text';
import { chargesOf, type JobCost, mergeCosts, withLostSubmits } from '../contract/job-cost';
import { describeMoney, type Money, sumOf } from '../contract/money';
import { callerOf } from '../gateway/task-names';
import {
  createStorage,
  DamagedEntry,
  RECORD_FOLDER,
  readRecordAt,
  recordOfKey,
  storageAddress,
  type VideoStorage,
} from '../storage';
import { caps } from './caps';
import { firstLineOf } from './doctor/described-error';
import { EXIT } from './exit-codes';
import { readTime, sayNoneHere } from './list';
import { type JobsSession, withJobs } from './open-jobs';
import { printLine, type Terminal } from './terminal';
import { type Column, tableLines } from './text-columns';

interface SpendOptions {
  since: string;
  until?: string;
  by?: string;
  caps?: boolean;
  json?: boolean;
}

/** A storage far away answers each read in a tenth of a second. */
const READS_AT_ONCE = 16;
/** A job takes about a kilobyte of memory while it is added up. */
const MOST_JOBS = 500_000;
const MOST_DAMAGED_NAMED = 20;

/** `videogen spend`: what jobs cost, from Temporal and from the records in the storage, each job once. */
export async function spend(options: SpendOptions, terminal: Terminal): Promise<number> {
  if (options.caps) return caps(options, terminal);
  const period = readPeriod(options, Date.now());
  return await withJobs(terminal, {
    run: async (session) => {
      const book = new SpendBook();
      for await (const job of paidJobs(session.client, period)) book.add(job);
      const problem = await addRecords(session, period, book, terminal);
      if (problem) printLine(terminal, `${problem} Jobs that Temporal has forgotten are missing.`);
      print(book, period, { ...options, isComplete: problem === undefined }, terminal);
      return EXIT.ok;
    },
    withoutJobs: () => sayNoneHere('add up', terminal),
  });
}

export function readPeriod({ since, until }: Pick<SpendOptions, 'since' | 'until'>, nowMs: number): Period {
  const period = {
    since: readTime('--since', since, nowMs),
    until: until === undefined ? new Date(nowMs) : readTime('--until', until, nowMs),
  };
  if (period.since < period.until) return period;
  throw new ConfigError(`--since is ${JSON.stringify(since)}, which is not before the end of the time.`);
}

/** Returns why the storage cannot be read, if it cannot. */
async function addRecords(
  { client }: JobsSession,
  period: Period,
  book: SpendBook,
  terminal: Terminal,
): Promise<string | undefined> {
  const config = readStorageConfig(terminal.env);
  const damaged: string[] = [];
  try {
    const storage = createStorage(config);
    if (storage.list === undefined) return 'The storage cannot list its files.';
    const { namespace } = client.options;
    for await (const job of recordedJobs({ storage, namespace, period, damaged })) book.add(job);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return `The storage ${storageAddress(config)} cannot be read (${firstLineOf(error)}).`;
  }
  for (const key of damaged.slice(0, MOST_DAMAGED_NAMED))
    printLine(terminal, `${key} is damaged and was skipped.`);
  const more = damaged.length - MOST_DAMAGED_NAMED;
  if (more > 0) printLine(terminal, `${more} more records are damaged and were skipped.`);
  return undefined;
}

interface RecordSource {
  storage: VideoStorage;
  namespace: string;
  period: Period;
  /** Takes the keys of files that are damaged. */
  damaged: string[];
}

/** The jobs and items of batches in the records of a storage. */
export async function* recordedJobs(source: RecordSource): AsyncGenerator<SpentJob> {
  let keys: string[] = [];
  const readAll = async () => {
    const jobs = await Promise.all(keys.map((key) => readJob(key, source)));
    keys = [];
    return jobs.filter((job) => job !== undefined);
  };
  for await (const key of recordsSince(source)) {
    keys.push(key);
    if (keys.length === READS_AT_ONCE) yield* await readAll();
  }
  yield* await readAll();
}

/** The first entry of each record. A record without an entry since then is of a job that was submitted before. */
async function* recordsSince({ storage, period }: RecordSource): AsyncGenerator<string> {
  let first: string | undefined;
  let isYielded = false;
  for await (const { key, storedAt } of storage.list?.(RECORD_FOLDER) ?? []) {
    if (recordOfKey(key)) {
      first = key;
      isYielded = false;
    }
    if (first === undefined || isYielded || dirname(key) !== dirname(first)) continue;
    isYielded = storedAt >= period.since;
    if (isYielded) yield first;
  }
}

async function readJob(key: string, source: RecordSource): Promise<SpentJob | undefined> {
  const { storage, namespace, period, damaged } = source;
  const record = await readRecordAt(storage, key).catch((error: unknown) => {
    if (!(error instanceof DamagedEntry)) throw error;
    damaged.push(key);
    return undefined;
  });
  if (record === undefined) return undefined;
  const { task, stored, lastSend, paidSends } = record;
  const [first] = record.entries;
  const at = new Date(lastSend?.at ?? first?.at ?? '');
  const isOfPeriod = at >= period.since && at < period.until;
  if (first === undefined || first.namespace !== namespace || !isOfPeriod) return undefined;
  if (task === undefined && paidSends.length === 0) return undefined;
  const cost = mergeCosts(lastSend?.cost, mergeCosts(task?.cost, stored?.cost));
  return {
    name: first.job,
    at,
    taskId: task?.taskId,
    service: task?.service ?? lastSend?.service ?? cost?.service,
    cost: withLostSubmits(cost, paidSends.length - (task === undefined ? 0 : 1)),
  };
}

/** A job that was paid for, or may have been, as Temporal or the storage knows it. */
export interface SpentJob {
  name: string;
  /** Missing if the submit is lost. */
  taskId?: string | undefined;
  at: Date;
  /** The name of a key of the gateway. */
  caller?: string | undefined;
  service?: string | undefined;
  cost?: JobCost | undefined;
}

/** The sums of one group. Currencies are never mixed, and each job is in exactly one of the three. */
interface Spending {
  videos: number;
  /** Of jobs whose service said what it charged. */
  charged: Money[];
  /** Of jobs for which only the prices of the profile are known. */
  estimated: Money[];
  /** How many jobs have an unknown cost: they are in no sum. */
  unknown: number;
}

interface SpendGroup extends Spending {
  name: string;
}

/** What spending is divided by. A job without a service or a caller is in the group `-`. */
const GROUPS = {
  service: ({ service, cost }: SpentJob) => cost?.service ?? service ?? '-',
  caller: ({ caller = '-' }: SpentJob) => caller,
  day: ({ at }: SpentJob) => at.toISOString().slice(0, 10),
};
type Division = keyof typeof GROUPS;
const DIVISIONS = Object.keys(GROUPS) as Division[];

/** Collects jobs from several sources, each once: two sources that name the same task mean the same job. */
export class SpendBook {
  private readonly jobs = new Map<string, SpentJob>();

  constructor(private readonly mostJobs = MOST_JOBS) {}

  add(job: SpentJob): void {
    const key = job.taskId === undefined ? `job ${job.name}` : `task ${job.taskId}`;
    const known = this.jobs.get(key);
    if (known === undefined && this.jobs.size >= this.mostJobs)
      throw new ConfigError(
        `There are more than ${this.mostJobs} jobs: ask for a shorter time with --since and --until.`,
      );
    const spent = { caller: callerOf(job.name), ...job };
    this.jobs.set(key, known ? merge(known, spent) : spent);
  }

  total(): Spending {
    return spendingOf(this.counted());
  }

  /** By name; days from the first to the last. */
  by(division: Division): SpendGroup[] {
    const groups = new Map<string, SpentJob[]>();
    for (const job of this.counted()) {
      const name = GROUPS[division](job);
      const group = groups.get(name);
      if (group) group.push(job);
      else groups.set(name, [job]);
    }
    return [...groups]
      .map(([name, jobs]) => ({ name, ...spendingOf(jobs) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** A lost submit that a later run of its job repeated is counted with that one. */
  private counted(): SpentJob[] {
    const jobs = [...this.jobs.values()];
    const repeated = new Set(
      jobs.flatMap(({ name, taskId, cost }) => (taskId !== undefined && cost?.lostSubmits ? [name] : [])),
    );
    return jobs.filter(({ name, taskId }) => taskId !== undefined || !repeated.has(name));
  }
}

function merge(one: SpentJob, other: SpentJob): SpentJob {
  const [earlier, later] = one.at <= other.at ? [one, other] : [other, one];
  return {
    ...earlier,
    caller: earlier.caller ?? later.caller,
    service: earlier.service ?? later.service,
    cost: mergeCosts(earlier.cost, later.cost),
  };
}

function spendingOf(jobs: readonly SpentJob[]): Spending {
  const charged: Money[] = [];
  const estimated: (Money | undefined)[] = [];
  for (const { cost, taskId } of jobs) {
    for (const charge of chargesOf(cost, taskId !== undefined)) {
      if (charge !== undefined && charge === cost?.charged) charged.push(charge);
      else estimated.push(charge);
    }
  }
  const { sums, unknown } = sumOf(estimated);
  return {
    videos: charged.length + estimated.length,
    charged: sumOf(charged).sums,
    estimated: sums,
    unknown,
  };
}

function print(
  book: SpendBook,
  period: Period,
  { json, by, isComplete }: SpendOptions & { isComplete: boolean },
  terminal: Terminal,
): void {
  const total = book.total();
  const divisions = DIVISIONS.filter((division) => by === undefined || division === by);
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
    const groups = book.by(division);
    const rows = groups.length > 1 ? [...groups, { name: 'total', ...total }] : groups;
    for (const line of tableLines(columnsFor(division), rows, screen.columns)) terminal.outLine(line);
  }
}

function columnsFor(division: Division): Column<SpendGroup>[] {
  return [
    { title: division.toUpperCase(), text: ({ name }) => shown(name), leastWidth: 10 },
    { title: 'VIDEOS', text: ({ videos }) => String(videos) },
    { title: 'CHARGED', text: ({ charged }) => amounts(charged) },
    { title: 'ESTIMATED', text: ({ estimated }) => amounts(estimated) },
    { title: 'UNKNOWN', text: ({ unknown }) => (unknown === 0 ? '' : String(unknown)) },
  ];
}

const amounts = (sums: readonly Money[]) => sums.map(describeMoney).join(' + ');

/** The answer in sentences: how much, and what is not in it. */
export function spendSentence({ videos, charged, estimated, unknown }: Spending): string {
  const known = [
    charged.length > 0 && `${amounts(charged)} charged`,
    estimated.length > 0 && `${amounts(estimated)} estimated`,
  ].filter(Boolean);
  const rest =
    unknown === 0
      ? ''
      : ` ${videosText(unknown)} of unknown cost ${unknown === 1 ? 'is' : 'are'} not in these sums.`;
  return `${videosText(videos)}: ${known.join(' and ') || 'no known cost'}.${rest}`;
}

const videosText = (count: number) => (count === 1 ? '1 video' : `${count} videos`);
