import { z } from 'zod';
import { cleanText } from '../../src/contract/clean-text';
import { readSmallFile, writeSmallJson } from '../../src/storage/small-files';
import type { VideoStorage } from '../../src/storage/storage';
import { logEvent } from '../log-event';

/** One file for all workers that share the storage. */
export const LEARNED_TIMES_KEY = 'jobs/learned-times.json';

const READ_EVERY_MS = 60_000;
const WRITE_EVERY_MS = 5_000;
/** The last ones of each kind, so that a service that becomes faster or slower is followed. */
const MOST_TASKS = 100;
/** Those of which a task ended last. */
const MOST_KINDS = 64;
export const LONGEST_KIND_CHARS = 320;
/** A time beyond this is no measured one. */
const LONGEST_MS = 7 * 24 * 3_600_000;

const time = z.number().transform(Math.round).pipe(z.int().min(0).max(LONGEST_MS));
const kindSchema = z.object({
  kind: z.string().max(LONGEST_KIND_CHARS),
  endedMs: z.array(time).max(MOST_TASKS).readonly(),
});
const fileSchema = z.object({ kinds: z.array(kindSchema).max(MOST_KINDS) });

type LearnedKind = z.infer<typeof kindSchema>;

/** A task that ended, in milliseconds since its submit: after the last poll that found it unfinished, by the next. */
export interface EndedTask {
  kind: string;
  afterMs: number;
  byMs: number;
}

/**
 * How long tasks take, learned from those that ended and shared by all workers with the same storage. No job depends on it: a
 * failing storage or a damaged file adds nothing. Of two workers that write at the same time, one loses a few tasks.
 */
export class LearnedTimes {
  private stored: readonly LearnedKind[] = [];
  /** Tasks that are not in the file yet. */
  private unwritten: readonly LearnedKind[] = [];
  private readAtMs = Number.NEGATIVE_INFINITY;
  private wroteAtMs = Number.NEGATIVE_INFINITY;
  private hasWarned = false;

  constructor(
    private readonly storage: Pick<VideoStorage, 'read' | 'write'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** How long the last tasks of a kind took. */
  endedOf(kind: string | undefined): readonly number[] {
    const ofKind = [...this.stored, ...this.unwritten].filter((one) => one.kind === kind);
    return ofKind.flatMap(({ endedMs }) => endedMs).slice(-MOST_TASKS);
  }

  /** Reads the file, at most once a minute. Never throws. */
  async refresh(): Promise<void> {
    if (this.nowMs() - this.readAtMs < READ_EVERY_MS) return;
    this.readAtMs = this.nowMs();
    await this.read();
  }

  /** Adds a task that has ended. Never throws, and takes no longer than two calls of the storage may. */
  async learn({ kind, afterMs, byMs }: EndedTask): Promise<void> {
    const { data } = kindSchema.safeParse({ kind, endedMs: [(afterMs + byMs) / 2] });
    if (data === undefined) return;
    this.unwritten = merge(this.unwritten, [data]);
    if (this.nowMs() - this.wroteAtMs < WRITE_EVERY_MS) return;
    this.wroteAtMs = this.nowMs();
    await this.read();
    const written = this.unwritten;
    this.unwritten = [];
    const kinds = merge(this.stored, written);
    try {
      await writeSmallJson(this.storage, LEARNED_TIMES_KEY, { kinds });
      this.stored = kinds;
    } catch (error) {
      this.unwritten = merge(written, this.unwritten);
      this.warn('written', error);
    }
  }

  /** What cannot be read adds nothing to what this worker knows, and the next write replaces it. */
  private async read(): Promise<void> {
    try {
      const text = await readSmallFile(this.storage, LEARNED_TIMES_KEY);
      this.stored = text === undefined ? [] : fileSchema.parse(JSON.parse(text)).kinds;
    } catch (error) {
      this.warn('read', error);
    }
  }

  private warn(what: 'read' | 'written', error: unknown): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    const reason = `${LEARNED_TIMES_KEY} could not be ${what}`;
    logEvent('timesNotLearned', { reason, error: cleanText(String(error)) });
  }
}

/** The kinds of both, those with the newest tasks last. */
function merge(known: readonly LearnedKind[], added: readonly LearnedKind[]): LearnedKind[] {
  const kinds = new Map<string, LearnedKind>();
  for (const { kind, endedMs } of [...known, ...added]) {
    const all = [...(kinds.get(kind)?.endedMs ?? []), ...endedMs].slice(-MOST_TASKS);
    kinds.delete(kind);
    kinds.set(kind, { kind, endedMs: all });
  }
  return [...kinds.values()].slice(-MOST_KINDS);
}
