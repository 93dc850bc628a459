import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { dayOf, type LedgerReport } from '../contract/ledger';
import { LEDGER_QUERY, LEDGER_WORKFLOW_TYPE, ledgerIdOf } from '../contract/names';

/**
 * What was taken of the caps of a task queue; undefined when nothing was counted yet. Asks a worker. Of a day that has ended
 * only the counts of batches are left.
 */
export async function readLedger(
  client: Client,
  taskQueue: string,
  nowMs = Date.now(),
): Promise<LedgerReport | undefined> {
  const { workflow } = client;
  try {
    const { day, counts } = await workflow.getHandle(ledgerIdOf(taskQueue)).query<LedgerReport>(LEDGER_QUERY);
    const isOver = day < dayOf(nowMs);
    return { day, counts: isOver ? counts.filter(({ scope }) => scope === 'batch') : counts };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The task queues whose caps count something. */
export async function queuesWithLedger(client: Client): Promise<string[]> {
  const query = `WorkflowType = '${LEDGER_WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
  const queues: string[] = [];
  for await (const { taskQueue } of client.workflow.list({ query })) queues.push(taskQueue);
  return queues.sort();
}
