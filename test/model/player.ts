import '../support/quick-workflows.cjs';
import { readFileSync } from 'node:fs';
import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { silenceLogs } from './play';
import { Playhouse } from './playhouse';
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
  const house = await Playhouse.open(readFileSync(codePath, 'utf8'));
  try {
    const whole = { ...share, seed };
    const options = {
      mayFailOnce: true,
      onProgress: (played: number) => answer({ played }),
      onFailure: (script: string) => process.stderr.write(`${script}\n`),
    };
    return await (kind === 'jobs'
      ? runShare(house, JOBS, whole, options)
      : runShare(house, BATCHES, whole, options));
  } finally {
    await house.close();
  }
}

function answer(given: Answer): void {
  process.send?.(given);
}

/** With its group, to which Temporal's server belongs. */
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

silenceLogs();
process.on('message', (order: Order) => {
  play(order).then(
    (report) => answer({ report, processorMs: processorMs() }),
    (error: unknown) => answer({ error: String(error) }),
  );
});
