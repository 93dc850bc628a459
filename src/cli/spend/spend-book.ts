import { ConfigError } from '../../config/service-config';
import { chargesOf, type JobCost, mergeCosts } from '../../contract/job-cost';
import { type Money, sumOf } from '../../contract/money';

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

/** What spending is divided by. */
export const DIVISIONS = ['service', 'caller', 'day'] as const;
export type Division = (typeof DIVISIONS)[number];

/** The sums of one group. Currencies are never mixed, and each job is in exactly one of the three. */
export interface Spending {
  videos: number;
  /** Of jobs whose service said what it charged. */
  charged: Money[];
  /** Of jobs for which only the prices of the profile are known. */
  estimated: Money[];
  /** How many jobs have an unknown cost: they are in no sum. */
  unknown: number;
}

export interface SpendGroup extends Spending {
  name: string;
}

/** A job without a caller or a service. */
const NONE = '-';

/** A job takes about a kilobyte of memory while it is added up. */
const MOST_JOBS = 500_000;

/** Collects jobs from several sources, each once: two sources that name the same task mean the same job. */
export class SpendBook {
  private readonly jobs = new Map<string, SpentJob>();

  constructor(private readonly mostJobs = MOST_JOBS) {}

  add(job: SpentJob): void {
    const key = job.taskId === undefined ? `job ${job.name}` : `task ${job.taskId}`;
    const known = this.jobs.get(key);
    if (known === undefined && this.jobs.size >= this.mostJobs) throw tooMany(this.mostJobs);
    this.jobs.set(key, known ? merge(known, job) : job);
  }

  total(): Spending {
    return spendingOf(this.counted());
  }

  /** A lost submit that a later run of its job repeated is counted with that one. */
  private counted(): SpentJob[] {
    const jobs = [...this.jobs.values()];
    const repeated = new Set(
      jobs.flatMap(({ name, taskId, cost }) => (taskId !== undefined && cost?.lostSubmits ? [name] : [])),
    );
    return jobs.filter(({ name, taskId }) => taskId !== undefined || !repeated.has(name));
  }

  /** By name; days from the first to the last. */
  by(division: Division): SpendGroup[] {
    const groups = new Map<string, SpentJob[]>();
    for (const job of this.counted()) {
      const name = NAMES[division](job);
      const group = groups.get(name);
      if (group) group.push(job);
      else groups.set(name, [job]);
    }
    return [...groups]
      .map(([name, jobs]) => ({ name, ...spendingOf(jobs) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const NAMES: Record<Division, (job: SpentJob) => string> = {
  service: ({ service, cost }) => cost?.service ?? service ?? NONE,
  caller: ({ caller = NONE }) => caller,
  day: ({ at }) => at.toISOString().slice(0, 10),
};

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

const tooMany = (most: number) =>
  new ConfigError(`There are more than ${most} jobs: ask for a shorter time with --since and --until.`);
