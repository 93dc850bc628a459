import { readdirSync, readFileSync, rmSync } from 'node:fs';
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
import { guarded } from './guard';
import { measured, type Taken } from './meter';
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

export interface Verdict {
  refused: boolean;
  /** What is wrong. */
  problems: string[];
}

/** Feeds one input, and judges what comes of it. */
export async function judge<Input>(target: Target<Input>, input: Input, folder: string): Promise<Verdict> {
  const first = await feed(target, input, folder);
  // Garbage of earlier inputs may be in the numbers: only what is slow or large twice is.
  const again = isTooMuch(first.taken, target) ? await feedAlone(target, input, folder) : first;
  return {
    refused: first.refused,
    problems: [...first.problems, ...describeExcess(again.taken, target)],
  };
}

async function feedAlone<Input>(target: Target<Input>, input: Input, folder: string) {
  collectGarbage();
  return feed(target, input, folder);
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

type Limits = Pick<Target<unknown>, 'mostMs'>;

function isTooMuch({ processorMs, memoryBytes }: Taken, { mostMs = MOST_MS }: Limits): boolean {
  return processorMs > mostMs || memoryBytes > MOST_MEMORY_BYTES;
}

function describeExcess({ processorMs, memoryBytes }: Taken, { mostMs = MOST_MS }: Limits): string[] {
  return [
    ...(processorMs > mostMs ? [`it took ${Math.round(processorMs)} ms of processor time`] : []),
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
