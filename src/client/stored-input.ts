import type { Client } from '@temporalio/client';
import { decodeFirst } from '../encryption/decode-first';
import { inTime } from './job-overview';

export type StoredInput = Record<string, unknown>;

/**
 * The input of a run; a job continues as new with the same. Any program may have written it. Undefined if a codec that is not
 * set here has encoded it.
 */
export async function readInput(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<StoredInput | undefined> {
  const { history } = await inTime(client, () =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    }),
  );
  const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  const first = await decodeFirst(client.options.loadedDataConverter, input).catch(() => undefined);
  if (typeof first !== 'object' || first === null) return undefined;
  // Some languages send null for an unset field.
  return Object.fromEntries(Object.entries(first).filter(([, value]) => value !== null));
}
