import { cleanText } from '../../src/contract/clean-text';
import { describeDuration, durationMs } from '../../src/contract/duration';
import type { JobOptions, ReportedProgress } from '../../src/contract/job';
import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import type { VideoService } from '../../src/service';
import { type ExpectedEnds, expectedEnds, pollDelayMs, withProgress } from './poll-schedule';

export const DEFAULT_MIN_MS = 2_000;
export const DEFAULT_MAX_MS = 120_000;
/** No job polls more often than this. */
const LEAST_MIN_MS = 1_000;
const LONGEST_KIND_CHARS = 320;

/** The last ones of each kind, so that a service that becomes faster or slower is followed. */
const MOST_TASKS = 100;
/** Those of which a task ended last. */
const MOST_KINDS = 64;

/** How long the tasks took that this worker has polled to their end. A worker that starts again learns again. */
export class LearnedTimes {
  private readonly endedMs = new Map<string, readonly number[]>();

  /** How long the last tasks of a kind took. */
  endedOf(kind: string | undefined): readonly number[] {
    return (kind !== undefined && this.endedMs.get(kind)) || [];
  }

  /** Adds a task that ended between two polls, in milliseconds since its submit. */
  learn({ kind, afterMs, byMs }: { kind: string; afterMs: number; byMs: number }): void {
    const all = [...this.endedOf(kind), Math.round((afterMs + byMs) / 2)].slice(-MOST_TASKS);
    this.endedMs.delete(kind);
    this.endedMs.set(kind, all);
    const [oldest = kind] = this.endedMs.keys();
    if (this.endedMs.size > MOST_KINDS) this.endedMs.delete(oldest);
  }
}

/** Of a service that nothing is known about. Measured generations took 83 to 253 s; some services need a few seconds. */
const UNKNOWN_SERVICE: readonly ExpectedEnds[] = [
  { ms: 6_000, spread: 0.6, weight: 0.5 },
  { ms: 100_000, spread: 0.5, weight: 0.5 },
];
/** All tasks end at the same time, as far as anybody can tell. */
const LEAST_SPREAD = 0.005;

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

/** Says when the tasks of one service are polled, by its profile and the tasks that ended before. */
export class PollPlan {
  constructor(
    private readonly at: { name?: string | undefined; service: Pick<VideoService, 'address' | 'profile'> },
    readonly learned: LearnedTimes,
  ) {}

  /** How long to wait before the next poll. */
  nextPollMs({ kind, waitedMs = 0, progress, retryAfterMs = 0, polling }: WaitingTask): number {
    const learned = expectedEnds(this.learned.endedOf(kind), this.expected());
    const ends = progress ? withProgress(learned, progress, waitedMs) : learned;
    const delayMs = pollDelayMs(waitedMs, ends, this.rulesOf(polling));
    return Math.max(delayMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
  }

  /** When a new task is polled, and why then: for the log. */
  describeFirstPoll(task: WaitingTask): string {
    const { length: ended } = this.learned.endedOf(task.kind);
    const isDescribed = this.at.service.profile?.polling?.usually !== undefined;
    const unlearned = isDescribed ? 'as the profile expects' : 'because no such task has ended here yet';
    const why = ended > 0 ? `by the last ${ended} such tasks` : unlearned;
    return `in ${describeDuration(this.nextPollMs(task))} ${why}`;
  }

  /** Names the tasks that take about equally long. A service without a name or an address could be any. */
  kindOf(request: VideoRequest & { model?: unknown }): string | undefined {
    // Two services at one address, such as two models, take different times.
    const service = [this.at.name, this.at.service.address].filter(Boolean).join(' at ');
    if (service === '') return undefined;
    const { image_url, resolution, duration, model } = request;
    const parts = [
      service,
      image_url === undefined ? 'text' : 'image',
      resolution,
      duration === undefined ? undefined : `${duration}s`,
      // Not a field of the interface, but it decides at services that have several.
      typeof model === 'string' ? model : undefined,
    ];
    return cleanText(parts.filter(Boolean).join(' '), LONGEST_KIND_CHARS);
  }

  /** The job's own rules, else those of the profile, else the default. */
  private rulesOf(own: JobOptions['polling']): { min: number; max: number } {
    const { polling } = this.at.service.profile ?? {};
    const min = durationMs(own?.min) ?? durationMs(polling?.min) ?? DEFAULT_MIN_MS;
    const max = durationMs(own?.max) ?? durationMs(polling?.max) ?? DEFAULT_MAX_MS;
    // A minimum above the default maximum raises the maximum.
    return { min: Math.max(min, LEAST_MIN_MS), max: Math.max(min, max, LEAST_MIN_MS) };
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
