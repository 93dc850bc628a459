import type { Client } from '@temporalio/client';
import { readFirstInput } from '../encryption/decode-first';
import { inTime } from './job-overview';

export type StoredInput = Record<string, unknown>;

/**
 * The input of a run; a job continues as new with the same. Any program may have written it. Undefined if a codec that is not
 * set here has encoded it.
 */
export async function readInput(
  client: Client,
  execution: { workflowId: string; runId: string },
): Promise<StoredInput | undefined> {
  const first = await inTime(client, () => readFirstInput(client.workflow, execution));
  if (typeof first !== 'object' || first === null) return undefined;
  // Some languages send null for an unset field.
  return Object.fromEntries(Object.entries(first).filter(([, value]) => value !== null));
}
