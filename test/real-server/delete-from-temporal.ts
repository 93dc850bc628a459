import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { pause } from '../support/world';

/** Dynamic config: by default, Temporal deletes an execution up to a minute after it was told to. */
export const QUICK_DELETION = {
  'history.transferProcessorUpdateAckInterval': '"100ms"',
  'history.visibilityProcessorUpdateAckInterval': '"100ms"',
};

/** Deletes the last run of a workflow, or the given one, as Temporal does after the retention period. */
export async function deleteFromTemporal(client: Client, workflowId: string, runId?: string): Promise<void> {
  const { namespace } = client.options;
  const workflowExecution = { workflowId, runId };
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  while (await isInTemporal(client, workflowId, runId)) await pause();
}

export function isInTemporal(client: Client, workflowId: string, runId?: string): Promise<boolean> {
  return client.workflow
    .getHandle(workflowId, runId)
    .describe()
    .then(
      () => true,
      (error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      },
    );
}
