import { z } from 'zod';
import { cleanText } from '../../src/contract/clean-text';
import type { VideoRequest } from '../../src/contract/request';
import { type EndedTask, type UsualTimes, usualTimesOf } from '../../src/contract/usual-times';
import type { VideoService } from '../../src/service';
import { inTime, readSmallText, type VideoStorage } from '../../src/storage';
import { logEvent } from '../log-event';
import { expectedTimesOf } from '../service-polling';
import { summarizeTimes } from './summarize-times';

/** One file for all workers that share the storage. */
export const LEARNED_TIMES_KEY = 'jobs/learned-times.json';

const READ_EVERY_MS = 60_000;
const WRITE_EVERY_MS = 5_000;
/** The last ones of each kind, so that a service that becomes faster or slower is followed. */
const MOST_TASKS = 200;
/** Those of which a task ended last. */
const MOST_KINDS = 64;
const LONGEST_KIND_CHARS = 120;
const LONGEST_ADDRESS_CHARS = 200;
const LONGEST_ERROR_CHARS = 300;
/** A time beyond this is no measured one. */
const LONGEST_MS = 7 * 24 * 3_600_000;

const time = z.int().min(0).max(LONGEST_MS);
const kindSchema = z.object({
  service: z.string().max(LONGEST_ADDRESS_CHARS),
  kind: z.string().max(LONGEST_KIND_CHARS),
  ended: z.array(z.tuple([time, time])).max(MOST_TASKS),
});
const fileSchema = z.object({ kinds: z.array(kindSchema).max(MOST_KINDS) });
const rounded = z.number().transform(Math.round).pipe(time);
const endedSchema = z.object({ kind: kindSchema.shape.kind, afterMs: rounded, byMs: rounded });

type LearnedKind = z.infer<typeof kindSchema>;

/**
 * How long tasks take at a service, learned from those that ended and shared by all workers with the same storage. No job
 * depends on it: a failing storage or a damaged file counts as nothing learned. Of two workers that write at the same
 * time, one loses a few tasks.
 */
export class LearnedTimes {
  private stored: readonly LearnedKind[] = [];
  /** Tasks that are not in the file yet. */
  private unwritten: readonly LearnedKind[] = [];
  private readAtMs = Number.NEGATIVE_INFINITY;
  private wroteAtMs = Number.NEGATIVE_INFINITY;
  private hasWarned = false;

  constructor(
    private readonly service: Pick<VideoService, 'address' | 'profile'>,
    private readonly storage: VideoStorage,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Reads the file, at most once a minute. Never throws. A submit does not wait for it. */
  async refresh(): Promise<void> {
    await this.orWarn(async () => {
      if (this.address === undefined || this.nowMs() - this.readAtMs < READ_EVERY_MS) return;
      this.readAtMs = this.nowMs();
      this.stored = await inTime(() => this.read());
    });
  }

  /** The kind of a task that was just made, so that the workflow can say when such a task ended. */
  kindFor(request: VideoRequest): { kind?: string } {
    return this.orNothing(() => (this.address === undefined ? {} : { kind: kindOf(request) }));
  }

  /** What is learned about tasks of this kind of request; nothing while none has ended. */
  usualTimesFor(request: VideoRequest): { usualTimes?: UsualTimes } {
    return this.orNothing(() => this.summaryOf(request));
  }

  private summaryOf(request: VideoRequest): { usualTimes?: UsualTimes } {
    const kind = kindOf(request);
    const isKind = (learned: LearnedKind) => learned.service === this.address && learned.kind === kind;
    const ended = [...this.stored, ...this.unwritten].filter(isKind).flatMap((learned) => learned.ended);
    if (ended.length === 0) return {};
    const expected = usualTimesOf(expectedTimesOf(this.service.profile?.polling));
    return { usualTimes: summarizeTimes(ended.slice(-MOST_TASKS), expected) };
  }

  /** Adds a task that has ended. Never throws, and takes no longer than a call of the storage may. */
  async learn(task: EndedTask): Promise<void> {
    await this.orWarn(async () => {
      const { data } = endedSchema.safeParse(task);
      const { address: service } = this;
      if (service === undefined || data === undefined) return;
      const { kind, afterMs, byMs } = data;
      this.unwritten = merge(this.unwritten, [{ service, kind, ended: [[afterMs, byMs]] }]);
      if (this.nowMs() - this.wroteAtMs < WRITE_EVERY_MS) return;
      this.wroteAtMs = this.nowMs();
      await inTime(() => this.write());
    });
  }

  /** A service without an address could be any. */
  private get address(): string | undefined {
    return this.service.address?.slice(0, LONGEST_ADDRESS_CHARS);
  }

  private async read(): Promise<readonly LearnedKind[]> {
    const file = await this.storage.read(LEARNED_TIMES_KEY);
    if (file === undefined) return [];
    const { data, error } = fileSchema.safeParse(parseJson(await readSmallText(file)));
    if (data !== undefined) return data.kinds;
    this.warn('the file with learned times is damaged and counts as empty', error);
    return [];
  }

  private async write(): Promise<void> {
    const { unwritten } = this;
    this.unwritten = [];
    try {
      const kinds = merge(await this.read(), unwritten);
      await this.storage.write(LEARNED_TIMES_KEY, `${JSON.stringify({ kinds })}\n`, 'application/json');
      this.stored = kinds;
      this.readAtMs = this.nowMs();
    } catch (error) {
      this.unwritten = merge(unwritten, this.unwritten);
      throw error;
    }
  }

  /** A submit that has been paid for must not fail here. */
  private orNothing<Found extends object>(find: () => Found): Partial<Found> {
    try {
      return find();
    } catch (error) {
      this.warn('the learned times could not be used', error);
      return {};
    }
  }

  private async orWarn(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.warn('the learned times could not be read or written', error);
    }
  }

  private warn(problem: string, error: unknown): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    logEvent('timesNotLearned', {
      reason: problem,
      key: LEARNED_TIMES_KEY,
      error: cleanText(String(error), LONGEST_ERROR_CHARS),
    });
  }
}

/** Tasks that take about equally long. The model is no field of the interface, and decides at services that have several. */
function kindOf(request: VideoRequest & { model?: unknown }): string {
  const { image_url, resolution, duration, model } = request;
  const parts = [
    image_url === undefined ? 'text' : 'image',
    resolution,
    duration === undefined ? undefined : `${duration}s`,
    typeof model === 'string' ? cleanText(model) : undefined,
  ];
  return parts.filter(Boolean).join(' ').slice(0, LONGEST_KIND_CHARS);
}

/** The kinds of both, those with the newest tasks last. */
function merge(known: readonly LearnedKind[], added: readonly LearnedKind[]): LearnedKind[] {
  const kinds = new Map<string, LearnedKind>();
  for (const one of [...known, ...added]) {
    const name = JSON.stringify([one.service, one.kind]);
    const ended = [...(kinds.get(name)?.ended ?? []), ...one.ended].slice(-MOST_TASKS);
    kinds.delete(name);
    kinds.set(name, { ...one, ended });
  }
  return [...kinds.values()].slice(-MOST_KINDS);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
