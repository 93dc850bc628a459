import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { ConfigError } from '../../src/config/service-config';
import { fromTemporalType } from '../../src/contract/failure-table';
import { DecisionRefused } from '../../src/contract/lost-submit';
import { VideoFailure } from '../../src/contract/video-failure';
import { ServiceFault } from '../../src/service';
import { StorageFault } from '../../src/storage';
import { collectGarbage } from '../support/collect-garbage';
import { STEERING } from '../support/hostile-text';
import { processorMs } from '../support/processor-time.cjs';
import { guarded } from './guard';
import { leaksIn } from './secrets';
import type { Seen, Target } from './target';

/** Errors that say what is wrong and what to do. Any other is a crash. */
const PLANNED = [ConfigError, VideoFailure, ServiceFault, StorageFault, DecisionRefused];

/** Of processor time, so that a busy machine makes no difference. */
const MOST_MS = 1_000;
const MEBIBYTE = 1024 * 1024;
const MOST_MEMORY_BYTES = 64 * MEBIBYTE;
/** Some screens; a failure's message is far shorter. */
const LONGEST_TEXT_CHARS = 12_000;
/** A recorded answer may have a megabyte. */
const LONGEST_DATA_CHARS = 1_200_000;

interface Verdict {
  refused: boolean;
  /** What is wrong. */
  problems: string[];
}

/** Feeds one input, and judges what comes of it. */
export async function judge<Input>(target: Target<Input>, input: Input, folder: string): Promise<Verdict> {
  const { refused, problems, taken } = await feed(target, input, folder);
  let excess = describeExcess(taken, target.mostMs);
  if (excess.length > 0) {
    // Garbage of earlier inputs may be in the numbers: only what is slow or large twice is.
    collectGarbage();
    excess = describeExcess((await feed(target, input, folder)).taken, target.mostMs);
  }
  return { refused, problems: [...problems, ...excess] };
}

async function feed<Input>(target: Target<Input>, input: Input, folder: string) {
  const options = { folder, connects: target.connects ?? false };
  const {
    value: { outcome, tried, warnings },
    taken,
  } = await measured(() => guarded(options, async () => target.feed(input, folder)));
  const seen: Seen = outcome.status === 'fulfilled' ? outcome.value : seenOfError(outcome.reason);
  const texts = [...seen.texts, ...warnings];
  const data = [...(seen.data ?? []), ...takeFiles(folder)];
  return {
    taken,
    refused: seen.refused ?? false,
    problems: [
      ...tried.map((what) => `it tried ${what}`),
      ...(seen.problems ?? []),
      ...texts.flatMap((text) => [
        ...(STEERING.test(text) ? [`a control character: ${excerpt(text, STEERING)}`] : []),
        ...(text.length > LONGEST_TEXT_CHARS
          ? [`a text of ${text.length} characters: ${excerpt(text, /^/)}`]
          : []),
      ]),
      ...data
        .filter(({ length }) => length > LONGEST_DATA_CHARS)
        .map((text) => `data of ${text.length} characters: ${excerpt(text, /^/)}`),
      ...[...texts, ...data].flatMap((text) => leaksIn(text).map((leak) => `${leak}: ${text.slice(0, 300)}`)),
    ],
  };
}

/** The texts of an error that was planned; any other error is a problem. */
function seenOfError(error: unknown): Seen {
  const isPlanned =
    PLANNED.some((known) => error instanceof known) ||
    (error instanceof ApplicationFailure && fromTemporalType(error.type) !== undefined);
  return {
    texts: textsOf(error),
    refused: true,
    problems: isPlanned
      ? []
      : [`a crash: ${String(Reflect.get(Object(error), 'stack') ?? error).slice(0, 1_000)}`],
  };
}

function textsOf(error: unknown): string[] {
  if (error == null) return [];
  const { message = '', cause, details, facts }: Record<string, unknown> = Object(error);
  const facets = [details, facts].filter((one) => one !== undefined).map((one) => JSON.stringify(one));
  return [String(message), ...facets, ...textsOf(cause)];
}

function describeExcess({ processorMs: tookMs, memoryBytes }: Taken, mostMs = MOST_MS): string[] {
  return [
    ...(tookMs > mostMs ? [`it took ${Math.round(tookMs)} ms of processor time`] : []),
    ...(memoryBytes > MOST_MEMORY_BYTES
      ? [`it took ${Math.round(memoryBytes / MEBIBYTE)} MiB of memory`]
      : []),
  ];
}

/** The contents of all files in the folder, which is empty afterwards. */
function takeFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const contents = entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  return contents;
}

function excerpt(text: string, around: RegExp): string {
  const at = Math.max(0, text.search(around) - 60);
  return JSON.stringify(text.slice(at, at + 160));
}

/** What one run took. */
interface Taken {
  processorMs: number;
  /** By how much the memory of the process grew at its highest, even if it was freed again. */
  memoryBytes: number;
}

async function measured<T>(work: () => Promise<T>): Promise<{ value: T; taken: Taken }> {
  forgetPeak();
  const bytesBefore = process.memoryUsage.rss();
  const startedAtMs = processorMs();
  const value = await work();
  const taken = { processorMs: processorMs() - startedAtMs, memoryBytes: peakBytes() - bytesBefore };
  return { value, taken };
}

/** Linux counts the peak from here on; elsewhere only what stays is seen. */
function forgetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // There is no /proc.
  }
}

function peakBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kibibytes) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}
