import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { historyOf } from './history';

/** Resets a workflow to its first workflow task, in its last run or in `runId`, as an operator does in the UI. */
export async function reset(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId?: string },
): Promise<void> {
  const history = await historyOf(client, workflowId, runId);
  const completed = history.events?.find((event) => event.workflowTaskCompletedEventAttributes);
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'a test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: completed?.eventId,
  });
}
