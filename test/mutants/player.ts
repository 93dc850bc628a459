import { readFileSync } from 'node:fs';
import { DefaultLogger, type InjectedSinks, type LogEntry, Runtime } from '@temporalio/worker';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { CASES } from '../model/cases';
import { compare } from '../model/compare-family';
import { type Script, scripts } from '../model/script';
import { ScriptPlayer } from '../model/script-player';
import { fc } from '../support/properties';
import type { ReachedSinks } from './mutant-interceptors';

/** Groups of scripts, each as places in the pool; the first problem ends the play. */
export interface Order {
  mutant?: string;
  groups: { scripts: number[]; limitMs: number }[];
}

export interface Played {
  /** Why the mutant is killed; undefined if all went well. */
  problem?: string;
  /** The player must be replaced: something in it is still running. */
  isStuck?: boolean;
  /** How long each group took. */
  tookMs: number[];
  /** Without a mutant: those that each script has reached. */
  reached: Record<number, string[]>;
}

const [, , codePath = '', seed = '7', drawn = '0'] = process.argv;

/** The scripts that every mutant of a run may be played with. */
const pool: Script[] = [...CASES.map(({ script }) => script), ...sample(Number(drawn))];

function sample(numRuns: number): Script[] {
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
  const played: Played = { tookMs: [], reached: {} };
  let current: Order['groups'][number] | undefined;
  const sinks: InjectedSinks<ReachedSinks> = {
    mutants: {
      reached: {
        fn: ({ workflowId }, ids) => {
          // The id of the script's workflow, or of one of its children.
          const [, index] = /^[^-]+-(\d+)/.exec(workflowId) ?? [];
          const script = current?.scripts[Number(index)];
          if (script === undefined) return;
          const { reached } = played;
          reached[script] = [...new Set([...(reached[script] ?? []), ...ids])];
        },
        callDuringReplay: true,
      },
    },
  };
  const active = mutant === undefined ? '' : `globalThis.__mutant__ = ${JSON.stringify(mutant)};\n`;
  const player = await ScriptPlayer.open(env, { threads: true, code: `${active}${code}`, sinks });
  for (const group of groups) {
    current = group;
    const startedAtMs = Date.now();
    const { problem, isStuck } = await playGroup(player, group);
    played.tookMs.push(Date.now() - startedAtMs);
    if (problem === undefined) continue;
    played.problem = problem;
    if (isStuck) return { ...played, isStuck };
    break;
  }
  return { ...played, isStuck: !(await closes(player)) };
}

/** Whether the player closed. Scripts that are still played then end with an error. */
async function closes(player: ScriptPlayer): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), LONGEST_CLOSE_MS);
  });
  const closed = player.close().then(
    () => true,
    () => false,
  );
  return Promise.race([closed, late]).finally(() => clearTimeout(timer));
}

async function playGroup(
  player: ScriptPlayer,
  { scripts: places, limitMs }: Order['groups'][number],
): Promise<Pick<Played, 'problem' | 'isStuck'>> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<Pick<Played, 'problem' | 'isStuck'>>((resolve) => {
    timer = setTimeout(() => resolve({ problem: 'no end', isStuck: true }), limitMs);
    // The test server would skip no more time after it.
    onTaskFailed = (problem) => resolve({ problem, isStuck: true });
  });
  const judged = player
    .play(places.flatMap((place) => pool[place] ?? []))
    .then((played) => played.flatMap(compare)[0]);
  try {
    return await Promise.race([stuck, judged.then((problem) => ({ problem }))]);
  } finally {
    clearTimeout(timer);
    judged.catch(() => undefined);
  }
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
          reached: {},
        }),
    );
  });
  process.send?.({ cases: CASES.length });
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
