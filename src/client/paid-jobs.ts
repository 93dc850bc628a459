import type { Client } from '@temporalio/client';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { type JobCost, readCost } from '../contract/job-cost';
import { COST_MEMO, LOST_SUBMIT_MEMO, SERVICE_MEMO, TASK_ID_MEMO, WORKFLOW_TYPE } from '../contract/names';
import { decodeFirst } from '../encryption/decode-first';
import { isNotDecrypted } from '../encryption/not-decrypted';
import { decodeFields } from './job-overview';
import { listRuns } from './temporal-calls';

/** A job that was paid for, or may have been. */
export interface PaidJob {
  name: string;
  at: Date;
  /** Missing if the submit is lost. */
  taskId?: string;
  /** If it has a name on the worker. An adopted task has no record that says it. */
  service?: string;
  cost?: JobCost;
}

/** From its first moment to its last, which is not in it. */
export interface Period {
  since: Date;
  until: Date;
}

const MEMOS = [TASK_ID_MEMO, LOST_SUBMIT_MEMO, COST_MEMO, SERVICE_MEMO];

/** The jobs of a namespace that were submitted, in whatever order Temporal has them. Their costs are in the lists: no query. */
export async function* paidJobs(client: Client, period: Period): AsyncGenerator<PaidJob, void, undefined> {
  for await (const { workflowId, startTime, memo: noted } of listRuns(client, conditions(period))) {
    await refuseUnreadable(client, noted?.fields);
    const memo = await decodeFields(client, noted?.fields);
    const taskId = memo[TASK_ID_MEMO];
    const wasSent = typeof taskId === 'string' || memo[LOST_SUBMIT_MEMO] !== undefined;
    if (!wasSent) continue;
    const cost = readCost(memo[COST_MEMO]);
    const service = memo[SERVICE_MEMO];
    yield {
      name: workflowId,
      at: requiredTsToDate(startTime, 'startTime'),
      ...(typeof taskId === 'string' && { taskId }),
      ...(typeof service === 'string' && { service }),
      ...(cost && { cost }),
    };
  }
}

/** A job whose memos cannot be decrypted here would be left out of the sum, and nobody would know. */
async function refuseUnreadable(
  { options: { loadedDataConverter } }: Client,
  fields: Parameters<typeof decodeFields>[1],
): Promise<void> {
  for (const name of MEMOS) {
    const payload = fields?.[name];
    if (!payload) continue;
    await decodeFirst(loadedDataConverter, { payloads: [payload] }).catch((error: unknown) => {
      if (isNotDecrypted(error)) throw error;
    });
  }
}

function conditions({ since, until }: Period): string {
  return [
    `WorkflowType = '${WORKFLOW_TYPE}'`,
    "ExecutionStatus != 'ContinuedAsNew'",
    `StartTime >= '${since.toISOString()}'`,
    `StartTime < '${until.toISOString()}'`,
  ].join(' AND ');
}
