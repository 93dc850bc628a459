import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesWith } from '../support/child-processes';
import { type CalledJob, Callers } from './callers';
import { filesIn, judge, type Verdict, type Wanted } from './judge';
import { type Decided, operate } from './operator';
import type { Part } from './part';
import { makePlan, type PlannedEvent, workerName } from './plan';
import { note, Programs } from './programs';

export interface ChaosOptions {
  seed: string;
  jobs: number;
  /** How long the interference lasts. */
  lengthMs: number;
  workers?: number;
  gateways?: number;
  /** What happens to the programs, instead of what the seed says. */
  events?: readonly PlannedEvent[];
  broken?: string;
  temporalCli: string;
  cluster?: { address: string; database: Part; stop(): Promise<void> };
  say?: (line: string) => void;
}

export interface ChaosReport extends Omit<Verdict, 'partFiles'> {
  leftBehind: number;
  seconds: number;
  /** Where everything is, if there are flaws. */
  folder: string;
}

/** After the interference, jobs have this long to end. A lost worker takes Temporal 20 s, and an operator 6 s. */
const JOBS_END_WITHIN_MS = 150_000;
const NEXT_POST_WITHIN_MS = 10_000;
/** Its attempts are 5, 15, 45, 135 and 405 s apart, and five of them may fail before the interference ends. */
const WEBHOOKS_WITHIN_MS = 450_000;
const JANITOR_WITHIN_MS = 20_000;
const TWO_DAYS_MS = 48 * 3_600_000;

/** Runs jobs while everything fails that can, and judges what is left. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, jobs, lengthMs, workers = 3, gateways = 2, cluster, say = () => undefined } = options;
  const startedAtMs = Date.now();
  const folder = mkdtempSync(join(tmpdir(), 'videogen-chaos-'));
  const seeded = makePlan({ seed, jobs, lengthMs, workers, gateways, hasDatabase: cluster !== undefined });
  const plan = { ...seeded, events: options.events ?? seeded.events };
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const programs = await Programs.start({ ...options, plan, folder });
  say(`All programs run after ${seconds(startedAtMs)} s; the logs are in ${folder}.`);
  const callers = new Callers(programs, plan.planned, over.signal);
  const operating = operate(programs, callers.called, over.signal);
  const flaws: string[] = [];
  const done = new Map<string, number>();
  let verdict: Verdict;
  let decided: Decided;
  try {
    const calling = callers.run();
    await Promise.all([interfere(programs, plan.events, done, flaws), sleep(lengthMs)]);
    for (const line of programs.lines.values()) line.heal();
    say(`The interference is over after ${seconds(startedAtMs)} s.`);
    const late = sleep(JOBS_END_WITHIN_MS, 'late', { signal: over.signal }).catch(() => undefined);
    const ended = await Promise.race([calling, late]);
    if (ended === 'late') {
      const open = callers.called.filter(({ told }) => told === undefined).map(({ job }) => job.name);
      flaws.push(
        `${open.length} jobs did not end within ${JOBS_END_WITHIN_MS / 1_000} s: ${open.join(', ')}`,
      );
    }
    say(`All jobs have ended after ${seconds(startedAtMs)} s.`);
    await untilWebhooksEnd(programs);
    over.abort();
    decided = await operating;
    await programs.writeVideos();
    await untilSwept(programs);
    verdict = await judge(programs, wantedBy(callers.called));
    for (const part of programs.parts.values()) flaws.push(...part.endedAlone);
  } finally {
    over.abort();
    await operating.catch(() => undefined);
    await programs.stop();
    await cluster?.stop();
  }
  const left = await leftBehind(programs, verdict.partFiles);
  for (const { job, flaws: own } of callers.called) flaws.push(...own.map((flaw) => `${job.name}: ${flaw}`));
  const all = [...verdict.flaws, ...flaws, ...decided.flaws, ...left.flaws].map(
    (flaw) => `seed ${seed}: ${flaw}`,
  );
  const { partFiles: _, ...rest } = verdict;
  const meddled = callers.called.flatMap((one) => one.done);
  const report = {
    ...rest,
    flaws: all,
    table: {
      ...Object.fromEntries([...done].sort()),
      'jobs meddled with': meddled.length,
      ...verdict.table,
      'tasks of others refused': decided.careless,
    },
    leftBehind: left.count,
    seconds: seconds(startedAtMs),
    folder,
  };
  if (all.length === 0) rmSync(folder, { recursive: true, force: true });
  else writeFileSync(join(folder, 'flaws.txt'), all.join('\n'));
  return report;
}

const seconds = (sinceMs: number) => Math.round((Date.now() - sinceMs) / 1_000);

function wantedBy(called: readonly CalledJob[]): Wanted[] {
  return called.flatMap(({ job, told, videoId }) =>
    job.prompts.map((prompt, index) => ({
      prompt,
      name:
        job.kind === 'batch' ? `${job.name}-${index + 1}` : videoId ? `gateway-chaos-${videoId}` : job.name,
      kind: job.kind,
      resubmits: job.resubmits,
      told: told?.kind === 'batch' ? undefined : told,
    })),
  );
}

/** Does what the plan says, each thing at its time. */
async function interfere(
  programs: Programs,
  events: readonly PlannedEvent[],
  done: Map<string, number>,
  flaws: string[],
): Promise<void> {
  const startedAtMs = Date.now();
  await Promise.all(
    events.map(async (event) => {
      await sleep(Math.max(0, startedAtMs + event.atMs - Date.now()));
      note(programs.folder, JSON.stringify(event));
      try {
        const what = await happen(programs, event);
        if (what !== undefined) done.set(what, (done.get(what) ?? 0) + 1);
      } catch (error) {
        flaws.push(`${JSON.stringify(event)} failed: ${error}`);
      }
    }),
  );
}

/** What was done; nothing if there was nothing to do it to. */
async function happen(programs: Programs, event: PlannedEvent): Promise<string | undefined> {
  const kindOf = (part: string) => part.replace(/-\d+$/, '');
  switch (event.kind) {
    case 'kill':
      if (programs.part(event.part).isBusy) return undefined;
      await programs.part(event.part).kill(event.downMs);
      return `kills of a ${kindOf(event.part)}`;
    case 'kill-after-post': {
      const { afterMs, downMs } = event;
      const worker = await programs.nextPost('', NEXT_POST_WITHIN_MS);
      if (worker === undefined || programs.part(workerName(worker)).isBusy) return undefined;
      await sleep(afterMs);
      await programs.part(workerName(worker)).kill(downMs);
      return 'kills of a worker after a POST';
    }
    case 'freeze':
      if (programs.part(event.part).isBusy) return undefined;
      await programs.part(event.part).freeze(event.ms);
      return `freezes of a ${kindOf(event.part)}`;
    case 'freeze-at-post':
      if (!(await programs.freezeAtPost(event.worker, event.ms))) return undefined;
      return 'freezes of a worker at a POST';
    case 'line':
      programs.line(event.line).trouble(event.trouble);
      return `lines: ${event.trouble.kind}`;
    case 'disk': {
      const disk = { kind: event.disk, untilMs: Date.now() + event.ms };
      writeFileSync(programs.troubleFile(event.worker), JSON.stringify({ disk }));
      return `disk: ${event.disk}`;
    }
    case 'rotate-key':
      await programs.rotateKey();
      return 'steps of a key rotation';
  }
}

/** A receiver that refused a webhook gets it again, seconds later. */
async function untilWebhooksEnd(programs: Programs): Promise<void> {
  const givesUpAtMs = Date.now() + WEBHOOKS_WITHIN_MS;
  const query = "ExecutionStatus = 'Running'";
  while (Date.now() < givesUpAtMs) {
    const { count } = await programs.client.workflow.count(query).catch(() => ({ count: 1 }));
    if (count === 0) return;
    await sleep(500);
  }
}

/** What killed workers have left is removed by the janitor of a worker that starts a day later: here the files are made old. */
async function untilSwept(programs: Programs): Promise<void> {
  const parts = () => filesIn(programs.storage).filter((file) => file.endsWith('.part'));
  if (parts().length === 0) return;
  const old = new Date(Date.now() - TWO_DAYS_MS);
  for (const file of parts()) utimesSync(file, old, old);
  await programs.part(workerName(1)).kill(0);
  for (const untilMs = Date.now() + JANITOR_WITHIN_MS; parts().length > 0 && Date.now() < untilMs; )
    await sleep(200);
}

async function leftBehind(programs: Programs, partFiles: number) {
  const flaws: string[] = [];
  const processes = () => processesWith(programs.mark, 'environ');
  // The children of a killed worker notice that it is gone.
  for (let left = 50; left > 0 && processes().length > 0; left--) await sleep(100);
  const alive = processes();
  if (alive.length > 0) flaws.push(`processes are left: ${alive.join(', ')}`);
  if (partFiles > 0) flaws.push(`${partFiles} temporary files are left`);
  const streams = [...programs.lines.values()].reduce((sum, { connections }) => sum + connections, 0);
  if (streams > 0) flaws.push(`${streams} connections are left`);
  return { count: alive.length + partFiles + streams, flaws };
}
