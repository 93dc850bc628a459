import { RECORD_IO_MS } from '../../src/storage/small-files';
import { fc } from '../support/properties';
import { compare } from './compare-family';
import type { Played } from './family';
import type { RenewedServer } from './renewed-server';
import { type Script, scripts } from './script';

/** How long a failing script is made smaller, one play after the other. */
const SHRINK_MS = 60_000;

/** How often a script that failed among others is played alone before it counts as one that does not fail again. */
const PLAYS_ALONE = 5;

/** A new process and a new server take their time with the first of everything, and local polls have little of it. */
const FIRST_AT_ONCE = 6;

/** How many scripts are played at once. */
const AT_ONCE = 50;

/** Scripts that are drawn together. The first one is number `from` of the run, and gives the share its seed. */
export interface Share {
  seed: number;
  from: number;
  scripts: number;
}

export interface RunReport {
  played: number;
  /** How many jobs these had, and how many runs those: more, as they continue as new. */
  jobs: number;
  runs: number;
  /** How many of which kind ended how. */
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
export async function runShare(
  server: RenewedServer,
  share: Share,
  { onProgress, onFailure, mayFailOnce = false }: RunOptions = {},
): Promise<RunReport> {
  const drawn = fc.sample(scripts, { seed: seedOf(share), numRuns: share.scripts });
  const report: RunReport = { played: 0, jobs: 0, runs: 0, outcomes: {}, failedOnce: [] };
  for (let from = 0; from < drawn.length; ) {
    const group = drawn.slice(from, from + (from === 0 ? FIRST_AT_ONCE : AT_ONCE));
    const all = await server.on((player) => player.play(group));
    for (const [index, played] of all.entries()) {
      count(report, played);
      const problems = compare(played);
      if (problems.length === 0) continue;
      if (waitedTooLong(played) && (await problemsOf(server, played.script)).length === 0) continue;
      const failed = { index: from + index, script: played.script, problems };
      // At once: the smallest takes minutes to find.
      const found = [`script ${share.from + failed.index + 1} fails:`, ...asCase(failed)].join('\n');
      onFailure?.(found);
      if (mayFailOnce && !(await failsAgain(server, failed.script))) {
        report.failedOnce.push(found);
        continue;
      }
      report.failure = await shrink(server, share, failed);
      return report;
    }
    from += group.length;
    onProgress?.(report.played);
  }
  return report;
}

/**
 * The storage of an attempt did not answer in time, which no script asks for: the limit is in seconds of this machine, whose
 * other tests may stop it for as long. Such a script is played once more.
 */
function waitedTooLong({ jobs }: Played): boolean {
  return jobs.some(({ attempts }) =>
    attempts.some(({ message }) => message?.includes(`no answer within ${RECORD_IO_MS / 1_000} s`)),
  );
}

/** On a new server, since it may be the old one that fails. */
async function failsAgain(server: RenewedServer, script: Script): Promise<boolean> {
  await server.renew();
  for (let play = 0; play < PLAYS_ALONE; play++)
    if ((await problemsOf(server, script)).length > 0) return true;
  return false;
}

async function problemsOf(server: RenewedServer, script: Script): Promise<string[]> {
  const played = await server.on((player) => player.play([script]));
  return played.flatMap(compare);
}

function seedOf({ seed, from }: Share): number {
  return (seed + from) | 0;
}

/** Plays the failing script alone, and then smaller and smaller ones that still fail. */
async function shrink(
  server: RenewedServer,
  share: Share,
  { index, script, problems }: { index: number; script: Script; problems: string[] },
): Promise<string> {
  let smallest = { script, problems };
  const property = fc.asyncProperty(scripts, async (tried) => {
    const found = await problemsOf(server, tried);
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

function count(report: RunReport, { script: { kind }, jobs, parent }: Played): void {
  const notes = kind === 'job' ? (jobs[0]?.notes ?? []) : parent;
  const end = notes.at(-1);
  const outcome = end?.kind !== 'end' ? 'none' : 'failed' in end.outcome ? end.outcome.failed : 'succeeded';
  report.played += 1;
  report.jobs += jobs.length;
  report.runs += jobs.flatMap((job) => job.notes).filter((note) => note.kind === 'run').length;
  const name = `${kind} ${outcome}`;
  report.outcomes[name] = (report.outcomes[name] ?? 0) + 1;
}
