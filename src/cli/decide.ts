import { ConfigError } from '../config';
import type { SubmitDecision } from '../contract';
import { EXIT, reportError } from './exit-codes';
import { openTemporal, warnOfOtherService } from './open-temporal';
import type { DecideOptions } from './options';
import { quietRuntime } from './quiet-runtime';
import { type Terminal, tell } from './terminal';

/** `videogen decide`: settles a submit whose answer was lost, as somebody who looked at the service knows best. */
export async function decide(
  workflowId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  try {
    const decision = readDecision(options);
    quietRuntime();
    const place = await openTemporal(terminal, { forNewJob: false });
    try {
      const job = place.videos.handle(workflowId);
      if (await job.exists()) await warnOfOtherService(job, place, terminal);
      await job.decideSubmit(decision);
    } finally {
      await place.close();
    }
    const isOver = decision.decision === 'abandon';
    const next = isOver ? 'The job ends.' : `Follow the job with: videogen generate --id ${workflowId}`;
    tell(terminal, `Decided: ${decision.decision}. ${next}`);
    terminal.out(options.json ? JSON.stringify({ workflowId, ...decision }) : workflowId);
    return EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

function readDecision({ resubmit, adopt, abandon }: DecideOptions): SubmitDecision {
  const decisions: SubmitDecision[] = [
    ...(resubmit ? [{ decision: 'resubmit' } as const] : []),
    ...(adopt === undefined ? [] : [{ decision: 'adopt', taskId: adopt.trim() } as const]),
    ...(abandon ? [{ decision: 'abandon' } as const] : []),
  ];
  const [decision, ...others] = decisions;
  if (decision && others.length === 0) return decision;
  throw new ConfigError('Give one of --adopt TASK, --resubmit and --abandon.');
}
