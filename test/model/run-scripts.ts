import { fc } from '../support/properties';
import type { BatchPerformance } from './batch-stage';
import { compare } from './compare';
import { compareBatch } from './compare-batch';
import type { Note } from './notes';
import type { Theatre } from './play';
import type { Playhouse } from './playhouse';
import { type BatchScript, batchScripts, type Script, scripts } from './script';
import type { Performance } from './stage';

/** How long a failing script is made smaller, one play after the other. */
const SHRINK_MS = 60_000;

/** How often a script that failed among others is played alone before it counts as one that does not fail again. */
const PLAYS_ALONE = 5;

/** A new process and a new server take their time with the first of everything, and local polls have little of it. */
const FIRST_AT_ONCE = 6;

/** Scripts of one kind: how they are made, played and judged, and how many one director plays at once. */
interface Kind<S, P extends { script: S; notes: Note[] }> {
  scripts: fc.Arbitrary<S>;
  atOnce: number;
  play(theatre: Theatre, scripts: S[]): Promise<P[]>;
  compare(performance: P): string[];
}

export const JOBS: Kind<Script, Performance> = {
  scripts,
  atOnce: 60,
  play: (theatre, all) => theatre.play(all),
  compare,
};

export const BATCHES: Kind<BatchScript, BatchPerformance> = {
  scripts: batchScripts,
  atOnce: 20,
  play: (theatre, all) => theatre.playBatches(all),
  compare: compareBatch,
};

/** Scripts that are drawn together. The first one is number `from` of the run, and gives the share its seed. */
export interface Share {
  seed: number;
  from: number;
  scripts: number;
}

export interface RunReport {
  played: number;
  /** How many runs the workflows had: more than were played, as they continue as new. */
  runs: number;
  outcomes: Record<string, number>;
  /** The first script that failed, as small as it could be made, with what is wrong. */
  failure?: string;
  /** Scripts that failed among others and not alone, as they are where `mayFailOnce`. */
  failedOnce: string[];
}

interface RunOptions {
  onProgress?(played: number): void;
  onFailure?(script: string): void;
  /** A script that does not fail alone ends no run, but is listed: hours of plays share a machine with other work. */
  mayFailOnce?: boolean;
}

/** Plays the scripts of a share in groups until one fails. */
export async function runShare<S, P extends { script: S; notes: Note[] }>(
  house: Playhouse,
  kind: Kind<S, P>,
  share: Share,
  { onProgress, onFailure, mayFailOnce = false }: RunOptions = {},
): Promise<RunReport> {
  const all = fc.sample(kind.scripts, { seed: seedOf(share), numRuns: share.scripts });
  const report: RunReport = { played: 0, runs: 0, outcomes: {}, failedOnce: [] };
  for (let from = 0; from < all.length; ) {
    const group = all.slice(from, from + (from === 0 ? FIRST_AT_ONCE : kind.atOnce));
    const performances = await house.on((theatre) => kind.play(theatre, group));
    for (const [index, performance] of performances.entries()) {
      count(report, performance.notes);
      const problems = kind.compare(performance);
      if (problems.length === 0) continue;
      const failed = { index: from + index, script: performance.script, problems };
      // At once: the smallest takes minutes to find.
      const found = [`script ${share.from + failed.index + 1} fails:`, ...asCase(failed)].join('\n');
      onFailure?.(found);
      if (mayFailOnce && !(await failsAgain(house, kind, failed.script))) {
        report.failedOnce.push(found);
        continue;
      }
      report.failure = await shrink(house, kind, share, failed);
      return report;
    }
    from += group.length;
    onProgress?.(report.played);
  }
  return report;
}

/** On a new server, since it may be the old one that fails. */
async function failsAgain<S, P extends { script: S; notes: Note[] }>(
  house: Playhouse,
  kind: Kind<S, P>,
  script: S,
): Promise<boolean> {
  await house.renew();
  for (let play = 0; play < PLAYS_ALONE; play++) {
    const performances = await house.on((theatre) => kind.play(theatre, [script]));
    if (performances.some((performance) => kind.compare(performance).length > 0)) return true;
  }
  return false;
}

function seedOf({ seed, from }: Share): number {
  return (seed + from) | 0;
}

/** Plays the failing script alone, and then smaller and smaller ones that still fail. */
async function shrink<S, P extends { script: S; notes: Note[] }>(
  house: Playhouse,
  kind: Kind<S, P>,
  share: Share,
  { index, script, problems }: { index: number; script: S; problems: string[] },
): Promise<string> {
  let smallest = { script, problems };
  const property = fc.asyncProperty(kind.scripts, async (tried) => {
    const performances = await house.on((theatre) => kind.play(theatre, [tried]));
    const found = performances.flatMap((performance) => kind.compare(performance));
    if (found.length > 0) smallest = { script: tried, problems: found };
    return found.length === 0;
  });
  await fc.check(property, {
    seed: seedOf(share),
    path: `${index}`,
    numRuns: 1,
    interruptAfterTimeLimit: SHRINK_MS,
  });
  return [`script ${share.from + index + 1}, as a case for cases.ts:`, ...asCase(smallest)].join('\n');
}

function asCase({ script, problems }: { script: unknown; problems: string[] }): string[] {
  return [
    ...problems.map((problem) => `  // ${problem}`),
    `  { name: '', script: ${JSON.stringify(script)} },`,
  ];
}

function count(report: RunReport, notes: Note[]): void {
  report.played += 1;
  report.runs += notes.filter(({ kind }) => kind === 'run').length;
  const end = notes.at(-1);
  const outcome = end?.kind !== 'end' ? 'none' : 'failed' in end.outcome ? end.outcome.failed : 'succeeded';
  report.outcomes[outcome] = (report.outcomes[outcome] ?? 0) + 1;
}
