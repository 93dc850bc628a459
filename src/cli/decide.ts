import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { commandOn, type SubmitDecision } from '../contract/lost-submit';
import { refuseBatch } from './find-job';
import { joinJob } from './follow-jobs';
import { type JobsSession, onJob } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

interface DecideOptions {
  resubmit?: boolean;
  adopt?: string;
  abandon?: boolean;
  json?: boolean;
}

/** `videogen decide`: settles a submit whose answer was lost. */
export async function decide(
  workflowId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  const decision = readDecision(options);
  const run = async (session: JobsSession) => {
    refuseBatch(await joinJob(session, workflowId, terminal));
    await session.videos.handle(workflowId).decideSubmit(decision);
    const next =
      decision.decision === 'abandon'
        ? 'The job ends.'
        : `Follow the job with: ${commandOn('watch', workflowId)}`;
    printLine(terminal, `Decided: ${decision.decision}. ${next}`);
    terminal.out(options.json ? printableJson({ workflowId, ...decision }) : shown(workflowId));
    return EXIT.ok;
  };
  return onJob(workflowId, terminal, run, { withWorker: true });
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
