import { readFileSync } from 'node:fs';
import { DefaultLogger, type InjectedSinks, type LogEntry, Runtime } from '@temporalio/worker';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { BATCH_CASES, CASES } from '../model/cases';
import { Theatre } from '../model/play';
import { BATCHES, JOBS } from '../model/run-scripts';
import type { BatchScript, Script } from '../model/script';
import { fc } from '../support/properties';
import type { ReachedSinks } from './mutant-interceptors';

/** The scripts that every mutant of a run may be played with. */
interface Pool {
  jobs: Script[];
  batches: BatchScript[];
}

type Kind = keyof Pool;

/** Groups of scripts, each as places in the pool; the first problem ends the play. */
export interface Order {
  mutant?: string;
  groups: { kind: Kind; scripts: number[]; limitMs: number }[];
}

export interface Played {
  /** Why the mutant is killed; undefined if all went well. */
  problem?: string;
  /** The player must be replaced: something in it is still running. */
  isStuck?: boolean;
  /** How long each group took. */
  tookMs: number[];
  /** Without a mutant: those that each script has reached. */
  reached: Record<Kind, Record<number, string[]>>;
}

const [, , codePath = '', seed = '7', jobs = '0', batches = '0'] = process.argv;

const pool: Pool = {
  jobs: [...CASES.map(({ script }) => script), ...sample(JOBS.scripts, Number(jobs))],
  batches: [...BATCH_CASES.map(({ script }) => script), ...sample(BATCHES.scripts, Number(batches))],
};

function sample<T>(scripts: fc.Arbitrary<T>, numRuns: number): T[] {
  return numRuns === 0 ? [] : fc.sample(scripts, { seed: Number(seed), numRuns });
}

const LONGEST_CLOSE_MS = 10_000;

/** A workflow task that fails is tried again for ever, as for a bug: nothing is gained by waiting. */
let onTaskFailed: (reason: string) => void = () => undefined;

Runtime.install({
  logger: new DefaultLogger('WARN', (entry) => {
    const reason = taskFailure(entry);
    if (reason !== undefined) onTaskFailed(reason);
  }),
  telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
});

function taskFailure({ message, meta }: LogEntry): string | undefined {
  if (process.env.VIDEOGEN_MUTANTS_LOG)
    process.stderr.write(`${message} ${JSON.stringify(meta)?.slice(0, 400)}\n`);
  return /Failing workflow task|Failed to process Workflow Activation/.test(message)
    ? `${message} ${JSON.stringify(meta)}`.slice(0, 300)
    : undefined;
}

async function play(env: VideoTestEnvironment, { mutant, groups }: Order): Promise<Played> {
  const code = readFileSync(codePath, 'utf8');
  const played: Played = { tookMs: [], reached: { jobs: {}, batches: {} } };
  let current: Order['groups'][number] | undefined;
  const sinks: InjectedSinks<ReachedSinks> = {
    mutants: {
      reached: {
        fn: ({ workflowId }, ids) => {
          const script = current?.scripts[Number(workflowId.split('-').at(-1))];
          if (current === undefined || script === undefined) return;
          const { [current.kind]: of } = played.reached;
          of[script] = [...new Set([...(of[script] ?? []), ...ids])];
        },
        callDuringReplay: true,
      },
    },
  };
  const active = mutant === undefined ? '' : `globalThis.__mutant__ = ${JSON.stringify(mutant)};\n`;
  const theatre = await Theatre.open(env, { threads: true, code: `${active}${code}`, sinks });
  for (const group of groups) {
    current = group;
    const startedAtMs = Date.now();
    const { problem, isStuck } = await playGroup(theatre, group);
    played.tookMs.push(Date.now() - startedAtMs);
    if (problem === undefined) continue;
    played.problem = problem;
    if (isStuck) return { ...played, isStuck };
    break;
  }
  return { ...played, isStuck: !(await closes(theatre)) };
}

/** Whether the theatre closed. Scripts that are still played then end with an error. */
async function closes(theatre: Theatre): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), LONGEST_CLOSE_MS);
  });
  const closed = theatre.close().then(
    () => true,
    () => false,
  );
  return Promise.race([closed, late]).finally(() => clearTimeout(timer));
}

async function playGroup(
  theatre: Theatre,
  { kind, scripts, limitMs }: Order['groups'][number],
): Promise<Pick<Played, 'problem' | 'isStuck'>> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<Pick<Played, 'problem' | 'isStuck'>>((resolve) => {
    timer = setTimeout(() => resolve({ problem: 'no end', isStuck: true }), limitMs);
    // The test server would skip no more time after it.
    onTaskFailed = (problem) => resolve({ problem, isStuck: true });
  });
  const judged =
    kind === 'jobs'
      ? judge(theatre, JOBS, pick(pool.jobs, scripts))
      : judge(theatre, BATCHES, pick(pool.batches, scripts));
  try {
    return await Promise.race([stuck, judged.then((problem) => ({ problem }))]);
  } finally {
    clearTimeout(timer);
    judged.catch(() => undefined);
  }
}

function pick<T>(all: T[], places: number[]): T[] {
  return places.flatMap((place) => all[place] ?? []);
}

async function judge<S, P>(
  theatre: Theatre,
  kind: { play(theatre: Theatre, scripts: S[]): Promise<P[]>; compare(performance: P): string[] },
  scripts: S[],
): Promise<string | undefined> {
  return (await kind.play(theatre, scripts)).flatMap((performance) => kind.compare(performance))[0];
}

/** With its group, to which Temporal's server belongs. */
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

async function main(): Promise<void> {
  const env = await createVideoTestEnvironment();
  process.on('message', (order: Order) => {
    play(env, order).then(
      (played) => process.send?.(played),
      (error: unknown) =>
        process.send?.({
          problem: String(error),
          isStuck: true,
          tookMs: [],
          reached: { jobs: {}, batches: {} },
        }),
    );
  });
  const { jobs, batches } = { jobs: CASES.length, batches: BATCH_CASES.length };
  process.send?.({ cases: { jobs, batches } });
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
