import { RECORD_IO_MS } from '../../src/storage/small-files';
import { fc } from '../support/properties';
import { compare } from './compare';
import { type Script, scripts } from './random-script';
import type { Observed } from './running-script';
import type { ScriptRunner } from './script-runner';

/** How long a failing script is made smaller, one run after the other. */
const SHRINK_MS = 60_000;

/** How often a script that failed among others is run alone before it counts as one that does not fail again. */
const RUNS_ALONE = 5;

/** A new process and a new server take their time with the first of everything, and local polls have little of it. */
const FIRST_AT_ONCE = 6;

/** How many scripts are run at once. */
const AT_ONCE = 50;

/** Scripts that are drawn together. The first one is number `from` of all, and gives the share its seed. */
export interface Share {
  seed: number;
  from: number;
  scripts: number;
}

export interface ShareReport {
  scripts: number;
  /** How many jobs these had, and how many runs those: more, as they continue as new. */
  jobs: number;
  runs: number;
  /** The first script that failed, as small as it could be made, with what is wrong. */
  failure?: string;
  /** Scripts that failed among others and not alone, as they are where `mayFailOnce`. */
  failedOnce: string[];
}

/**
 * Runs the scripts of a share in groups, and compares what happened with the model, until one fails. Where it `mayFailOnce`, one
 * that does not fail alone ends nothing, but is listed: hours of runs share a machine with other work.
 */
export async function checkScripts(
  runner: ScriptRunner,
  share: Share,
  mayFailOnce = false,
): Promise<ShareReport> {
  const drawn = fc.sample(scripts, { seed: seedOf(share), numRuns: share.scripts });
  const report: ShareReport = { scripts: 0, jobs: 0, runs: 0, failedOnce: [] };
  const groups = [drawn.slice(0, FIRST_AT_ONCE)];
  for (let from = FIRST_AT_ONCE; from < drawn.length; from += AT_ONCE)
    groups.push(drawn.slice(from, from + AT_ONCE));
  for (const group of groups) {
    for (const observed of await runner.run(group)) {
      const index = report.scripts;
      count(report, observed);
      const { script } = observed;
      const problems = compare(observed);
      if (problems.length === 0) continue;
      if (waitedTooLong(observed) && (await problemsOf(runner, script)).length === 0) continue;
      // At once: the smallest takes minutes to find.
      const found = [`script ${share.from + index + 1} fails:`, ...asCase(script, problems)].join('\n');
      process.stderr.write(`${found}\n`);
      if (mayFailOnce && !(await failsAgain(runner, script))) {
        report.failedOnce.push(found);
        continue;
      }
      report.failure = await shrink(runner, share, { index, script, problems });
      return report;
    }
  }
  return report;
}

/**
 * The storage of an attempt did not answer in time, which no script asks for: the limit is in seconds of this machine, whose
 * other work may stop it for as long. Such a script is run once more.
 */
function waitedTooLong({ jobs }: Observed): boolean {
  return jobs.some(({ attempts }) =>
    attempts.some(({ message }) => message?.includes(`no answer within ${RECORD_IO_MS / 1_000} s`)),
  );
}

/** On a new server, since it may be the old one that fails. */
async function failsAgain(runner: ScriptRunner, script: Script): Promise<boolean> {
  await runner.renewServer();
  for (let run = 0; run < RUNS_ALONE; run++) if ((await problemsOf(runner, script)).length > 0) return true;
  return false;
}

async function problemsOf(runner: ScriptRunner, script: Script): Promise<string[]> {
  return (await runner.run([script])).flatMap(compare);
}

function seedOf({ seed, from }: Share): number {
  return (seed + from) | 0;
}

/** Runs the failing script alone, and then smaller and smaller ones that still fail. */
async function shrink(
  runner: ScriptRunner,
  share: Share,
  { index, script, problems }: { index: number; script: Script; problems: string[] },
): Promise<string> {
  let smallest = { script, problems };
  const property = fc.asyncProperty(scripts, async (tried) => {
    const found = await problemsOf(runner, tried);
    if (found.length > 0) smallest = { script: tried, problems: found };
    return found.length === 0;
  });
  await fc.check(property, {
    seed: seedOf(share),
    path: `${index}`,
    numRuns: 1,
    interruptAfterTimeLimit: SHRINK_MS,
  });
  const lines = asCase(smallest.script, smallest.problems);
  return [`script ${share.from + index + 1}, as a case for model.test.ts:`, ...lines].join('\n');
}

function asCase(script: Script, problems: string[]): string[] {
  return [
    ...problems.map((problem) => `  // ${problem}`),
    `  { name: '', script: ${JSON.stringify(script)} },`,
  ];
}

function count(report: ShareReport, { jobs }: Observed): void {
  report.scripts += 1;
  report.jobs += jobs.length;
  report.runs += jobs.flatMap((job) => job.events).filter((event) => event.kind === 'run').length;
}
