import { readFileSync } from 'node:fs';
import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { withBreak } from './breaks';
import { RenewedServer } from './renewed-server';
import { type RunReport, runShare, type Share } from './run-scripts';
import { silenceLogs } from './script-player';

/** What run.cjs asks for, and the answers: how far it is, and in the end the report. */
export type Order = Omit<Share, 'seed'>;
export type Answer = { played: number } | { report: RunReport; processorMs: number } | { error: string };

const [, , codePath = ''] = process.argv;

/** Each share has a server of its own: the test server forgets nothing. */
async function play(share: Order): Promise<RunReport> {
  const { seed = 0 } = fc.readConfigureGlobal();
  const server = await RenewedServer.open(withBreak(readFileSync(codePath, 'utf8')));
  try {
    return await runShare(
      server,
      { ...share, seed },
      {
        mayFailOnce: true,
        onProgress: (played: number) => answer({ played }),
        onFailure: (script: string) => process.stderr.write(`${script}\n`),
      },
    );
  } finally {
    await server.close();
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
