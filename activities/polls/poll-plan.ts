import { cleanText } from '../../src/contract/clean-text';
import { durationMs } from '../../src/contract/duration';
import { isPollsPerSecondSaved } from '../../src/contract/input-rules';
import type { JobOptions, ReportedProgress } from '../../src/contract/job';
import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import type { VideoService } from '../../src/service';
import type { EndedTask, Interval, LearnedTimes } from './learned-times';
import { bestDelayMs, type ExpectedEnds, type PollRules } from './poll-schedule';

export const DEFAULT_MIN_MS = 2_000;
export const DEFAULT_MAX_MS = 120_000;
export const DEFAULT_POLLS_PER_SECOND_SAVED = 4;
/** No job polls more often than this. */
export const LEAST_MIN_MS = 1_000;

/** Of a service that nothing is known about. Measured generations took 83 to 253 s; some services need a few seconds. */
const UNKNOWN_SERVICE: readonly ExpectedEnds[] = [
  { ms: 5_000, spread: 0.6, weight: 1 / 3 },
  { ms: 100_000, spread: 0.6, weight: 2 / 3 },
];
/** What is expected counts as this many tasks before any has ended, and as ever fewer the more have. */
const EXPECTED_TASKS = 0.4;
/** How far apart tasks end, in logarithms of their times, as long as few have ended: as much as one such task says. */
const EXPECTED_DEVIATION = 1;
/** How much wider than one task the tasks are that it stands for. */
const SMOOTHING = 0.35;
/** The more tasks have ended, the less each of them stands for. */
const SHARPENING = 0.2;
/** It may have ended anywhere between its last two polls: what the time between them adds. */
const BETWEEN_POLLS = 0.15;
/** All tasks end at the same time, as far as anybody can tell. */
const LEAST_SPREAD = 0.005;

/** What a percentage says counts this many times as much as all tasks that ended before. */
const PROGRESS_WEIGHT = 20;
/** How far off it may be: at 100 %, and at the beginning. */
const SPREAD_AT_END = 0.017;
const SPREAD_AT_START = 0.14;
/** Below this, a percentage says too little about the time left. */
const USEFUL_PERCENT = 10;

const LONGEST_SERVICE_CHARS = 200;
const LONGEST_MODEL_CHARS = 80;

/** What the workflow knows about a task that was submitted or polled. */
export interface WaitingTask {
  /** What `kindOf` says about its request; without it nothing learned is about the task. */
  kind?: string;
  /** Since the submit, or the adoption; 0 by default. */
  waitedMs?: number;
  progress?: ReportedProgress;
  retryAfterMs?: number;
  /** The job's own rules. */
  polling?: JobOptions['polling'];
}

/** Says when the tasks of one service are polled, by its profile, the worker's settings and the tasks that ended before. */
export class PollPlan {
  constructor(
    private readonly at: { name?: string | undefined; service: Pick<VideoService, 'address' | 'profile'> },
    private readonly learned: Pick<LearnedTimes, 'endedOf' | 'learn' | 'refresh'>,
    private readonly pollsPerSecondSaved?: number,
  ) {}

  /** How long to wait before the next poll. */
  nextPollMs({ kind, waitedMs = 0, progress, retryAfterMs = 0, polling }: WaitingTask): number {
    void this.learned.refresh();
    const name = kind === undefined ? undefined : this.fullNameOf(kind);
    const ended = name === undefined ? [] : this.learned.endedOf(name);
    const ends = sharpen(expectedEnds(ended, this.expected()), progress, waitedMs);
    const delayMs = bestDelayMs(waitedMs, ends, this.rulesOf(polling ?? {}));
    return Math.max(delayMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
  }

  /** Tasks that take about equally long. A service without a name or an address could be any. */
  kindOf(request: VideoRequest & { model?: unknown }): string | undefined {
    const { image_url, resolution, duration, model } = request;
    const parts = [
      image_url === undefined ? 'text' : 'image',
      resolution,
      duration === undefined ? undefined : `${duration}s`,
      // Not a field of the interface, but it decides at services that have several.
      typeof model === 'string' ? cleanText(model, LONGEST_MODEL_CHARS) : undefined,
    ];
    const kind = parts.filter(Boolean).join(' ');
    return this.fullNameOf(kind) === undefined ? undefined : kind;
  }

  /** Learns from a task that has ended. Never throws. */
  async learn({ kind, ...ended }: EndedTask): Promise<void> {
    const name = this.fullNameOf(kind);
    if (name !== undefined) await this.learned.learn({ ...ended, kind: name });
  }

  /** Reads what other workers have learned, if that was long ago. Never throws. */
  refresh(): Promise<void> {
    return this.learned.refresh();
  }

  /** Two services at one address, such as two models, take different times. */
  private fullNameOf(kind: string): string | undefined {
    const {
      name,
      service: { address },
    } = this.at;
    const service = [name, address].filter(Boolean).join(' at ').slice(0, LONGEST_SERVICE_CHARS);
    return service === '' ? undefined : `${service} ${kind}`;
  }

  /** The job's own rules, else those of the worker, else those of the profile, else the default. */
  private rulesOf(own: NonNullable<JobOptions['polling']>): PollRules {
    const { polling } = this.at.service.profile ?? {};
    const min = durationMs(own.min) ?? durationMs(polling?.min) ?? DEFAULT_MIN_MS;
    const max = durationMs(own.max) ?? durationMs(polling?.max) ?? DEFAULT_MAX_MS;
    const saved = [own.pollsPerSecondSaved, this.pollsPerSecondSaved, polling?.pollsPerSecondSaved];
    return {
      min: Math.max(min, LEAST_MIN_MS),
      // A minimum above the default maximum raises the maximum.
      max: Math.max(min, max, LEAST_MIN_MS),
      pollsPerSecondSaved: saved.find(isPollsPerSecondSaved) ?? DEFAULT_POLLS_PER_SECOND_SAVED,
    };
  }

  /** Before any task has ended. */
  private expected(): readonly ExpectedEnds[] {
    const { usually } = this.at.service.profile?.polling ?? {};
    const median = durationMs(usually?.median);
    const slow = durationMs(usually?.slow);
    if (median === undefined || slow === undefined) return UNKNOWN_SERVICE;
    const spread = Math.max(Math.log(slow / median) / Math.log(19), LEAST_SPREAD);
    return [{ ms: median, spread, weight: 1 }];
  }
}

/** Each task that has ended stands for some that end around its time: the closer to it, the more of them have ended. */
function expectedEnds(ended: readonly Interval[], expected: readonly ExpectedEnds[]): ExpectedEnds[] {
  const count = ended.length;
  const expectedTasks = EXPECTED_TASKS ** 2 / (EXPECTED_TASKS + count);
  const middles = ended.map(([afterMs, byMs]) => Math.max((afterMs + byMs) / 2, 1));
  const mean = sum(middles.map(Math.log)) / count;
  const squares = sum(middles.map((ms) => (Math.log(ms) - mean) ** 2)) + EXPECTED_DEVIATION ** 2;
  const width = SMOOTHING * Math.sqrt(squares / (count + 1)) * count ** -SHARPENING;
  return [
    ...expected.map((ends) => ({ ...ends, weight: ends.weight * expectedTasks })),
    ...middles.map((ms, index) => {
      const [afterMs, byMs] = ended[index] ?? [ms, ms];
      return { ms, spread: Math.hypot(width, (BETWEEN_POLLS * (byMs - afterMs)) / ms), weight: 1 };
    }),
  ];
}

/** Adds what the progress of the task says. A percentage that has not risen until its estimate was over says nothing. */
function sharpen(
  ends: readonly ExpectedEnds[],
  { percent, atMs }: ReportedProgress = { percent: 0, atMs: 0 },
  waitedMs: number,
): readonly ExpectedEnds[] {
  const ms = (atMs * 100) / percent;
  if (!(percent >= USEFUL_PERCENT && ms > waitedMs)) return ends;
  const spread = SPREAD_AT_END + (SPREAD_AT_START - SPREAD_AT_END) * (1 - percent / 100);
  return [...ends, { ms, spread, weight: PROGRESS_WEIGHT * sum(ends.map(({ weight }) => weight)) }];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
