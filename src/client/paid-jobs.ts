import type { Client } from '@temporalio/client';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { type JobCost, readCost } from '../contract/job-cost';
import { COST_MEMO, LOST_SUBMIT_MEMO, SERVICE_MEMO, TASK_ID_MEMO, WORKFLOW_TYPE } from '../contract/names';
import { decodeFirst } from '../encryption/decode-first';
import { isNotDecrypted } from '../encryption/not-decrypted';
import { inTime, readMemos } from './job-overview';

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

const JOBS_PER_PAGE = 500;
const MEMOS = [TASK_ID_MEMO, LOST_SUBMIT_MEMO, COST_MEMO, SERVICE_MEMO];

/** The jobs of a namespace that were submitted, in whatever order Temporal has them. Their costs are in the lists: no query. */
export async function* paidJobs(client: Client, period: Period): AsyncGenerator<PaidJob, void, undefined> {
  const { namespace } = client.options;
  const query = conditions(WORKFLOW_TYPE, period);
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await inTime(client, () =>
      client.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize: JOBS_PER_PAGE,
        nextPageToken,
      }),
    );
    for (const { execution, startTime, memo: fields } of page.executions) {
      await refuseUnreadable(client, fields?.fields);
      const memo = await readMemos(client, fields?.fields, MEMOS);
      const taskId = memo(TASK_ID_MEMO);
      const wasSent = typeof taskId === 'string' || memo(LOST_SUBMIT_MEMO) !== undefined;
      if (!execution?.workflowId || !wasSent) continue;
      const cost = readCost(memo(COST_MEMO));
      const service = memo(SERVICE_MEMO);
      yield {
        name: execution.workflowId,
        at: requiredTsToDate(startTime, 'startTime'),
        ...(typeof taskId === 'string' && { taskId }),
        ...(typeof service === 'string' && { service }),
        ...(cost && { cost }),
      };
    }
    nextPageToken = page.nextPageToken;
  } while (nextPageToken?.length);
}

/** A job whose memos cannot be decrypted here would be left out of the sum, and nobody would know. */
async function refuseUnreadable(
  { options: { loadedDataConverter } }: Client,
  fields: Parameters<typeof readMemos>[1],
): Promise<void> {
  for (const name of MEMOS) {
    const payload = fields?.[name];
    if (!payload) continue;
    await decodeFirst(loadedDataConverter, { payloads: [payload] }).catch((error: unknown) => {
      if (isNotDecrypted(error)) throw error;
    });
  }
}

function conditions(type: string, { since, until }: Period): string {
  return [
    `WorkflowType = '${type}'`,
    "ExecutionStatus != 'ContinuedAsNew'",
    `StartTime >= '${since.toISOString()}'`,
    `StartTime < '${until.toISOString()}'`,
  ].join(' AND ');
}
