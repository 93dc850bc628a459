import { failureOfEnded } from '../client/job-overview';
import type { JobOverview } from '../client/overview';
import { inTime } from '../client/temporal-calls';
import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { adoptCommand, commandOn } from '../contract/lost-submit';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { type JobsSession, onJob } from './open-jobs';
import { printLine, type Terminal } from './terminal';

/** A worker asks the service to cancel the task first. */
const ENDS_WITHIN_MS = 10_000;

const ENDINGS: Record<JobOverview['state'], string> = {
  running: 'runs',
  'needs-decision': 'needs a decision',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
};

/** `videogen cancel`: ends a job or a batch. */
export function cancel(workflowId: string, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    const { client, signal } = session;
    let job = await findJob(session, workflowId);
    if (job.endedAt !== undefined && job.state !== 'cancelled') {
      throw new ConfigError(`${shown(workflowId)} has ended already: it ${ENDINGS[job.state]}.`);
    }
    if (job.endedAt === undefined) await inTime(client, () => client.workflow.getHandle(workflowId).cancel());
    const end = () => client.workflow.getHandle(workflowId).result();
    await inTime(client, end, ENDS_WITHIN_MS).catch(() => undefined);
    signal.throwIfAborted();
    job = await findJob(session, workflowId);
    for (const line of await describeEnd(session, job)) printLine(terminal, line);
    const { state, taskId } = job;
    terminal.out(options.json ? printableJson({ workflowId, state, taskId }) : shown(workflowId));
    return EXIT.ok;
  });
}

async function describeEnd(
  { client, describeMissingWorker }: JobsSession,
  { workflowId, kind, state, endedAt }: JobOverview,
): Promise<string[]> {
  const name = shown(workflowId);
  if (endedAt === undefined) {
    const missing = await describeMissingWorker(workflowId).catch(() => undefined);
    const recorded = `The cancellation of ${name} is recorded. It ends as soon as a worker takes it up.`;
    return missing === undefined ? [recorded] : [recorded, missing];
  }
  if (kind === 'batch') return [`${name} ${ENDINGS[state]}. Its results list what was paid for.`];
  const failure = await failureOfEnded(client, client.workflow.getHandle(workflowId));
  if (failure === undefined) return [`${name} ${ENDINGS[state]}.`];
  const canRetry = failure.taskId !== undefined && adoptCommand(failure) !== undefined;
  const retry = `Pick the task up again with: ${commandOn('retry', workflowId)}`;
  return canRetry ? [failure.message, retry] : [failure.message];
}
