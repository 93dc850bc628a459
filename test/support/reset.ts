import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { historyOf } from './history';

/** Has a workflow begin again after its first workflow task, as an operator does in the UI. */
export async function reset(client: Client, { workflowId }: { workflowId: string }): Promise<void> {
  const history = await historyOf(client, workflowId);
  const completed = history.events?.find((event) => event.workflowTaskCompletedEventAttributes);
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'a test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: completed?.eventId,
  });
}
