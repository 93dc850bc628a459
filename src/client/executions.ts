import type { Client } from '@temporalio/client';
import { cleanText } from '../contract/clean-text';
import { errorCode, GRPC_STATUS } from '../contract/error-code';
import { WEBHOOK_WORKFLOW_TYPE, webhookId } from '../contract/names';
import { WEBHOOK_EVENTS } from '../contract/webhook';
import { describeRun, inTime, isNotThere, KINDS, listRuns, OF_OUR_TYPES, quotedText } from './temporal-calls';

/** One run of a workflow in Temporal. */
export interface Execution {
  workflowId: string;
  runId: string;
  isOpen: boolean;
  firstRunId: string;
}

const RUNNING = 1;

/** The runs of a name that are jobs or batches, the current one last. Lists lag behind, so it is described too. */
export async function executionsOf(client: Client, workflowId: string): Promise<Execution[]> {
  const current = await findRun(client, { workflowId });
  const runIds = await findRuns(client, `WorkflowId = ${quotedText(workflowId)}`);
  const earlier: Execution[] = [];
  for (const { runId } of runIds) {
    if (runId === current?.runId) continue;
    const found = await findRun(client, { workflowId, runId });
    if (found) earlier.push(found);
  }
  return current ? [...earlier, current] : earlier;
}

/** The deliveries of a job's webhooks. They are workflows of their own, with the job's name and task in them. */
export async function deliveriesOf(client: Client, runs: readonly Execution[]): Promise<Execution[]> {
  const found: Execution[] = [];
  for (const { firstRunId } of byFirstRun(runs)) {
    for (const event of WEBHOOK_EVENTS) {
      // Only a hold can begin more than once.
      for (let count = 1; ; count++) {
        const workflowId = webhookId(firstRunId, event, count);
        const delivery = await findRun(client, { workflowId }, [WEBHOOK_WORKFLOW_TYPE]);
        if (delivery) found.push(delivery);
        if (delivery === undefined || event !== 'video.needs_decision') break;
      }
    }
  }
  return found;
}

const byFirstRun = (runs: readonly Execution[]) =>
  new Map(runs.map((run) => [run.firstRunId, run] as const)).values();

/** The jobs that a batch, or a job with several services, has started. */
export function childrenOf(client: Client, parent: string): Promise<Execution[]> {
  return findRuns(client, `ParentWorkflowId = ${quotedText(parent)}`);
}

/** Names that begin so of jobs that somebody else has started. */
export async function namesWith(client: Client, prefix: string, parent: string): Promise<Set<string>> {
  const isOther = `(ParentWorkflowId IS NULL OR ParentWorkflowId != ${quotedText(parent)})`;
  const runs = await findRuns(client, `WorkflowId STARTS_WITH ${quotedText(prefix)} AND ${isOther}`);
  return new Set(runs.map(({ workflowId }) => workflowId));
}

/** Why it stays, if the namespace does not allow it. Temporal would end a run that is open: only ended ones are named here. */
export async function deleteExecution(
  client: Client,
  { workflowId, runId }: Pick<Execution, 'workflowId' | 'runId'>,
): Promise<string | undefined> {
  const { namespace } = client.options;
  const workflowExecution = { workflowId, runId };
  try {
    await inTime(client, () =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
    );
    return undefined;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    const refused = REFUSALS.get(Number(errorCode(error)));
    if (refused === undefined) throw error;
    return `${refused} (${cleanText(String(error))})`;
  }
}

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [
    GRPC_STATUS.permissionDenied,
    'these credentials may not delete executions in the namespace; use some that may, and run it again, or wait for the retention of the namespace',
  ],
  [GRPC_STATUS.unimplemented, 'this server cannot delete executions; the retention of the namespace ends it'],
]);

async function findRun(
  client: Client,
  execution: { workflowId: string; runId?: string },
  types: readonly string[] = [...KINDS.keys()],
): Promise<Execution | undefined> {
  const info = (await describeRun(client, execution))?.workflowExecutionInfo;
  const runId = info?.execution?.runId;
  // The name may have been that of another program's workflow.
  if (!runId || !types.includes(info?.type?.name ?? '')) return undefined;
  return {
    workflowId: execution.workflowId,
    runId,
    isOpen: info?.status === RUNNING,
    firstRunId: info?.firstRunId || runId,
  };
}

/** A server without lists, such as a test server, has none. */
async function findRuns(client: Client, condition: string): Promise<Execution[]> {
  const found: Execution[] = [];
  try {
    for await (const { workflowId, runId, status, firstRunId } of listRuns(
      client,
      `${condition} AND ${OF_OUR_TYPES}`,
    ))
      found.push({ workflowId, runId, isOpen: status === RUNNING, firstRunId: firstRunId || runId });
  } catch (error) {
    if (errorCode(error) !== GRPC_STATUS.unimplemented) throw error;
  }
  return found;
}
