import type { Client } from '@temporalio/client';
import { resolveQueues } from '../config/queues';
import type { Environment } from '../config/service-config';
import { inShell, shown } from '../contract/clean-text';
import { pollersOf } from './pollers';

/** Names the task queue on which a job or batch waits although no worker polls it; undefined if there is none. */
export async function describeMissingWorker(
  client: Client,
  workflowId: string,
  env: Environment,
): Promise<string | undefined> {
  const server = { connection: client.connection, namespace: client.options.namespace };
  // Not the SDK's own description: it decodes the memo, which a codec that is not set here may have encoded.
  const { namespace } = server;
  const { workflowExecutionInfo, pendingActivities } = await client.workflowService.describeWorkflowExecution(
    {
      namespace,
      execution: { workflowId },
    },
  );
  const taskQueue = workflowExecutionInfo?.taskQueue ?? '';
  const start = `start one with: ${workerCommand(taskQueue, env)}`;
  if ((await pollersOf(server, taskQueue, 'workflows')).length === 0) {
    return `No worker polls task queue ${shown(taskQueue)}, so ${shown(workflowId)} waits; ${start}`;
  }
  const pending = (pendingActivities ?? []).flatMap(({ activityOptions }) => {
    return activityOptions?.taskQueue?.name ?? [];
  });
  for (const queue of new Set(pending)) {
    if ((await pollersOf(server, queue, 'activities')).length > 0) continue;
    return `No worker polls task queue ${shown(queue)}, where ${shown(workflowId)} waits for its submit. If the worker of ${shown(taskQueue)} has the plugin, start jobs with the createVideoClient of the plugin; otherwise ${start}`;
  }
  return undefined;
}

function workerCommand(taskQueue: string, env: Environment): string {
  const isConfigured = taskQueue === resolveQueues({}, env).taskQueue;
  return isConfigured ? 'videogen worker' : `VIDEOGEN_TASK_QUEUE=${inShell(taskQueue)} videogen worker`;
}
