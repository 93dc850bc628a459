import { proxyActivities, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { SERVICE_MEMO } from '../src/contract/names';
import { ADOPT_POLICY, FIND_SERVICE_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { refused } from './input';
import type { Job } from './job';
import { logJob } from './log-event';

/** Takes over the task that the job was started for, until the deadline: it is paid for, whatever fails now. */
export async function adoptGivenTask(job: Job, taskId: string): Promise<void> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    scheduleToCloseTimeout: job.remainingMs(),
    retry: { ...ADOPT_POLICY.retry, maximumAttempts: undefined },
    summary: describeTask(taskId),
  });
  const caller = job.input.caller ?? undefined;
  recordAdopted(job, await adoptTask({ taskId, service: job.service, caller }));
}

export function recordAdopted(job: Job, task: SubmittedTask): void {
  job.recordAdopted(task);
  logJob(job, 'adopted');
}

/** Takes over the task that an operator found for a lost submit. It is polled first: a mistyped id would fail the job. */
export async function adoptFoundTask(job: Job, taskId: string): Promise<SubmittedTask> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    summary: `${describeTask(taskId)}, to adopt it`,
  });
  const { request, caller } = job.input;
  return adoptTask({
    taskId,
    service: job.service,
    request: request ?? undefined,
    caller: caller ?? undefined,
    isPolled: true,
  });
}

/**
 * Asks the worker for a service that nobody has vouched for: a submit to a service that no worker has would wait for one until
 * the deadline. Clients of ours with the list of services have checked the name and note it in a memo.
 */
export async function checkService({ service }: Job): Promise<void> {
  if (service === undefined || service === workflowInfo().memo?.[SERVICE_MEMO]) return;
  const { findService } = proxyLocalActivities<VideoActivities>({
    ...FIND_SERVICE_POLICY,
    summary: `service ${service}`,
  });
  const { problem } = await findService({ service });
  if (problem !== undefined) throw refused(problem);
}
