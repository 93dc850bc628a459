import type { WorkflowClient, WorkflowHandle } from '@temporalio/client';
import { shown } from '../contract/clean-text';
import { TASK_QUEUE_TYPES } from '../contract/names';

const ANSWER_WITHIN_MS = 5_000;

/** Where a job or batch waits although no worker polls there. */
interface Unserved {
  queue: string;
  waitsFor: keyof typeof TASK_QUEUE_TYPES;
}

/** Not the SDK's own description: it decodes the memo, which a codec that is not set here may have encoded. */
export function findUnserved(client: WorkflowClient, workflowId: string): Promise<Unserved | undefined> {
  const { namespace } = client.options;
  return client.connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, async () => {
    const { workflowExecutionInfo, pendingActivities } =
      await client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } });
    const waits: Unserved[] = [{ queue: workflowExecutionInfo?.taskQueue ?? '', waitsFor: 'workflows' }];
    for (const { activityOptions } of pendingActivities ?? [])
      if (activityOptions?.taskQueue?.name)
        waits.push({ queue: activityOptions.taskQueue.name, waitsFor: 'activities' });
    for (const wait of waits) {
      const taskQueueType = TASK_QUEUE_TYPES[wait.waitsFor];
      const asked = { namespace, taskQueue: { name: wait.queue }, taskQueueType };
      const { pollers } = await client.workflowService.describeTaskQueue(asked);
      if (!pollers?.length) return wait;
    }
    return undefined;
  });
}

/** Long enough for a worker that is just starting. */
const TELL_AFTER_MS = 30_000;

/** Waits for an outcome of a job or batch. If that takes long, and no worker polls its queue, the log says so. */
export async function orTellUnserved<T>(
  { client, workflowId }: WorkflowHandle,
  outcome: Promise<T>,
  log: (line: string) => void,
  afterMs: number = TELL_AFTER_MS,
): Promise<T> {
  const timer = setTimeout(async () => {
    const unserved = await findUnserved(client, workflowId).catch(() => undefined);
    if (unserved)
      log(`${shown(workflowId)} waits: no worker polls the task queue ${shown(unserved.queue)}. Start one.`);
  }, afterMs);
  return outcome.finally(() => clearTimeout(timer));
}
