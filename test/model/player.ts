import { readFileSync } from 'node:fs';
import { createVideoTestEnvironment } from '../../src/testing';
import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { Stalled, silenceLogs, Theatre } from './play';
import { BATCHES, JOBS, type RunReport, runShare, type Share } from './run-scripts';

/** What run.cjs asks for, and the answers: how far it is, and in the end the report. */
export interface Order extends Omit<Share, 'seed'> {
  kind: 'jobs' | 'batches';
}
export type Answer = { played: number } | { report: RunReport; processorMs: number } | { error: string };

const [, , codePath = ''] = process.argv;

/** Each share has a server of its own: the test server forgets nothing. */
async function play({ kind, ...share }: Order): Promise<RunReport> {
  const { seed = 0 } = fc.readConfigureGlobal();
  const env = await createVideoTestEnvironment();
  const theatre = await Theatre.open(env, { code: readFileSync(codePath, 'utf8') });
  try {
    const whole = { ...share, seed };
    const options = {
      mayFailOnce: true,
      onProgress: (played: number) => answer({ played }),
      onFailure: (script: string) => process.stderr.write(`${script}\n`),
    };
    return await (kind === 'jobs'
      ? runShare(theatre, JOBS, whole, options)
      : runShare(theatre, BATCHES, whole, options));
  } finally {
    await theatre.close();
    await env.teardown();
  }
}

/** As in the suite, what stalls is played once more on a new server. */
async function playUnlessStalled(order: Order): Promise<RunReport> {
  try {
    return await play(order);
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    process.stderr.write(`${JSON.stringify(order)} once more on a new server: ${error.message}\n`);
    return play(order);
  }
}

function answer(given: Answer): void {
  process.send?.(given);
}

/** With its group, to which Temporal's server belongs. */
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

silenceLogs();
process.on('message', (order: Order) => {
  playUnlessStalled(order).then(
    (report) => answer({ report, processorMs: processorMs() }),
    (error: unknown) => answer({ error: String(error) }),
  );
});
