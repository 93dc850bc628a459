import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { historyOf } from './history';

/** Resets a workflow to its first or last workflow task, in its last run or in `runId`, as an operator does in the UI. */
export async function reset(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId?: string },
  { toLast = false } = {},
): Promise<void> {
  const { events = [] } = await historyOf(client, workflowId, runId);
  const all = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const completed = all.at(toLast ? -1 : 0);
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'a test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: completed?.eventId,
  });
}
