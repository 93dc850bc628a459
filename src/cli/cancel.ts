import { setTimeout as sleep } from 'node:timers/promises';
import { failureOfEnded, inTime } from '../client/job-overview';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { adoptCommand, commandOn } from '../contract/lost-submit';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { onJob } from './job-action';
import type { JobsSession } from './open-jobs';
import type { CancelOptions } from './options';
import { printLine, type Terminal } from './terminal';

/** A worker asks the service to cancel the task first. */
const ENDS_WITHIN_MS = 10_000;
const CHECK_EVERY_MS = 250;

/** `videogen cancel`: ends a job or a batch. */
export function cancel(workflowId: string, options: CancelOptions, terminal: Terminal): Promise<number> {
  return onJob(workflowId, options, terminal, async (session) => {
    const before = await findJob(session, workflowId);
    if (before.endedAt !== undefined && before.state !== 'cancelled') {
      throw new ConfigError(`${shown(workflowId)} has ended already: it ${ENDINGS[before.state]}.`);
    }
    if (before.endedAt === undefined) {
      await inTime(session.client, () => session.client.workflow.getHandle(workflowId).cancel());
    }
    const after = await untilEnded(session, before);
    for (const line of await describeEnd(session, after)) printLine(terminal, line);
    const { state, taskId } = after;
    terminal.out(options.json ? printableJson({ workflowId, state, taskId }) : shown(workflowId));
    return EXIT.ok;
  });
}

const ENDINGS: Record<JobOverview['state'], string> = {
  running: 'runs',
  'needs-decision': 'needs a decision',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
};

async function untilEnded(session: JobsSession, before: JobOverview): Promise<JobOverview> {
  let latest = before;
  for (
    const giveUpAt = Date.now() + ENDS_WITHIN_MS;
    latest.endedAt === undefined && Date.now() < giveUpAt;
  ) {
    await sleep(CHECK_EVERY_MS, undefined, { signal: session.signal });
    latest = await findJob(session, before.workflowId);
  }
  return latest;
}

async function describeEnd(session: JobsSession, after: JobOverview): Promise<string[]> {
  const { workflowId, kind, state, endedAt } = after;
  if (endedAt === undefined) {
    const missing = await session.describeMissingWorker(workflowId).catch(() => undefined);
    return [
      `The cancellation of ${shown(workflowId)} is recorded. It ends as soon as a worker takes it up.`,
      ...(missing === undefined ? [] : [missing]),
    ];
  }
  if (kind === 'batch')
    return [`${shown(workflowId)} ${ENDINGS[state]}. Its results list what was paid for.`];
  const failure = await failureOfEnded(session.client, session.client.workflow.getHandle(workflowId));
  if (failure === undefined) return [`${shown(workflowId)} ${ENDINGS[state]}.`];
  const command = adoptCommand(failure) && commandOn('retry', workflowId);
  return [failure.message, ...(command && failure.taskId ? [`Pick the task up again with: ${command}`] : [])];
}
