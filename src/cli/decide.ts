import { ConfigError } from '../config/service-config';
import { itemName } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import { describeOtherType } from '../contract/job-identity';
import { DecisionRefused, type SubmitDecision } from '../contract/lost-submit';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { jobCommand } from './commands';
import { EXIT, reportError } from './exit-codes';
import { reportJoined } from './joined-job';
import { openTemporal, type TemporalSession } from './open-temporal';
import type { DecideOptions } from './options';
import { noSuchJob } from './similar-names';
import { printLine, type Terminal } from './terminal';

const OWN_TYPES: readonly string[] = [WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE];

/** `videogen decide`: settles a submit whose answer was lost. */
export async function decide(
  workflowId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  try {
    const decision = readDecision(options);
    const session = await openTemporal(terminal, { forNewJob: false });
    try {
      const job = session.videos.handle(workflowId);
      if (!(await job.exists())) {
        const { message } = await noSuchJob(workflowId, session.recentNames);
        throw new DecisionRefused(message);
      }
      const description = await session.describe(workflowId);
      checkIsOurs(description);
      await reportJoined(description, session, { terminal });
      await job.decideSubmit(decision);
    } finally {
      await session.close();
    }
    printLine(terminal, `Decided: ${decision.decision}. ${whatNext(workflowId, decision)}`);
    terminal.out(options.json ? printableJson({ workflowId, ...decision }) : shown(workflowId));
    return EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

function checkIsOurs({ workflowId, type, raw }: Awaited<ReturnType<TemporalSession['describe']>>): void {
  if (OWN_TYPES.includes(type)) return;
  if (type === BATCH_WORKFLOW_TYPE)
    throw new DecisionRefused(
      `${shown(workflowId)} is a batch: decide on one of its items, such as ${shown(itemName(workflowId, 17))}.`,
    );
  const jobs = (raw.pendingChildren ?? []).flatMap((child) =>
    OWN_TYPES.includes(child.workflowTypeName ?? '') ? shown(child.workflowId ?? '') : [],
  );
  const where =
    jobs.length === 0
      ? 'Its video job is one of its child workflows: see the Temporal UI.'
      : `Its video jobs are ${jobs.join(', ')}.`;
  throw new DecisionRefused(`${describeOtherType(workflowId, type, WORKFLOW_TYPE)} ${where}`);
}

function whatNext(workflowId: string, { decision }: SubmitDecision): string {
  return decision === 'abandon' ? 'The job ends.' : `Follow the job with: ${jobCommand(workflowId)}`;
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
