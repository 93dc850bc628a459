import { ConfigError } from '../config/service-config';
import { DecisionRefused, printableJson, type SubmitDecision, shown } from '../contract';
import { describeOtherType } from '../contract/job-identity';
import { BATCH_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { jobCommand } from './commands';
import { EXIT, reportError } from './exit-codes';
import { reportJoined } from './joined-job';
import { openTemporal, type TemporalSession } from './open-temporal';
import type { DecideOptions } from './options';
import { noSuchJob } from './similar-names';
import { printLine, type Terminal } from './terminal';

const OWN_TYPES: readonly string[] = [WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE];

/** `videogen decide`: settles a submit whose answer was lost. */
export async function decide(
  workflowId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  try {
    const decision = readDecision(options);
    const item = readItem(options.item);
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
      if (item === undefined) await job.decideSubmit(decision);
      else await session.videos.batch(workflowId).decideSubmit({ ...decision, item });
    } finally {
      await session.close();
    }
    printLine(terminal, `Decided: ${decision.decision}. ${whatNext(workflowId, decision, item)}`);
    terminal.out(options.json ? printableJson({ workflowId, item, ...decision }) : shown(workflowId));
    return EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

function checkIsOurs({ workflowId, type, raw }: Awaited<ReturnType<TemporalSession['describe']>>): void {
  if (OWN_TYPES.includes(type)) return;
  const jobs = (raw.pendingChildren ?? []).flatMap((child) =>
    OWN_TYPES.includes(child.workflowTypeName ?? '') ? shown(child.workflowId ?? '') : [],
  );
  const where =
    jobs.length === 0
      ? 'Its video job is one of its child workflows: see the Temporal UI.'
      : `Its video jobs are ${jobs.join(', ')}.`;
  throw new DecisionRefused(`${describeOtherType(workflowId, type, WORKFLOW_TYPE)} ${where}`);
}

function whatNext(workflowId: string, { decision }: SubmitDecision, item: number | undefined): string {
  if (item !== undefined) return decision === 'abandon' ? `Item ${item} ends.` : `Item ${item} continues.`;
  return decision === 'abandon' ? 'The job ends.' : `Follow the job with: ${jobCommand(workflowId)}`;
}

function readItem(given: string | undefined): number | undefined {
  if (given === undefined || /^[1-9]\d*$/.test(given)) return given === undefined ? undefined : Number(given);
  throw new ConfigError(`--item is ${JSON.stringify(given)}: give the number of an item, such as 17.`);
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
