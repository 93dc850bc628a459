import type { Client } from '@temporalio/client';
import { cleanText, shown } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { WEBHOOK_WORKFLOW_TYPE } from '../contract/names';
import { WEBHOOK_EVENTS, webhookId } from '../contract/webhook';
import { ForgetRefused } from './forget-refused';
import { inTime, isMissingNamespace, KINDS } from './job-overview';

const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

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
  const current = await describeRun(client, { workflowId });
  const runIds = await listRuns(client, `WorkflowId = ${quoted(workflowId)}`);
  const earlier: Execution[] = [];
  for (const { runId } of runIds) {
    if (runId === current?.runId) continue;
    const found = await describeRun(client, { workflowId, runId });
    if (found) earlier.push(found);
  }
  return current ? [...earlier, current] : earlier;
}

/** The deliveries of a job's webhooks. They are workflows of their own, with the job's name and task in them. */
export async function deliveriesOf(client: Client, runs: readonly Execution[]): Promise<Execution[]> {
  const found: Execution[] = [];
  for (const { workflowId: job, firstRunId } of byFirstRun(runs)) {
    for (const event of WEBHOOK_EVENTS) {
      // Only a hold can begin more than once.
      for (let count = 1; ; count++) {
        const workflowId = webhookId(job, firstRunId, event, count);
        const delivery = await describeRun(client, { workflowId }, [WEBHOOK_WORKFLOW_TYPE]);
        if (delivery) found.push(delivery);
        if (delivery === undefined || event !== 'video.needs_decision') break;
      }
    }
  }
  return found;
}

const byFirstRun = (runs: readonly Execution[]) =>
  new Map(runs.map((run) => [run.firstRunId, run] as const)).values();

/** Names of jobs with a workflow of their own among those that begin so. */
export async function namesWith(client: Client, prefix: string): Promise<Set<string>> {
  const runs = await listRuns(client, `WorkflowId STARTS_WITH ${quoted(prefix)}`);
  return new Set(runs.map(({ workflowId }) => workflowId));
}

/** Temporal would end a run that is open: only ended ones are named here, by their run ids. */
export async function deleteExecution(
  client: Client,
  { workflowId, runId }: Pick<Execution, 'workflowId' | 'runId'>,
): Promise<void> {
  const { namespace } = client.options;
  const workflowExecution = { workflowId, runId };
  try {
    await inTime(client, () =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
    );
  } catch (error) {
    if (errorCode(error) === NOT_FOUND && !isMissingNamespace(error)) return;
    const refused = REFUSALS.get(Number(errorCode(error)));
    if (refused === undefined) throw error;
    throw new ForgetRefused(
      `Everything in the storage is removed, but the execution ${shown(workflowId)} stays: ${refused} (${cleanText(String(error))}).`,
      { cause: error },
    );
  }
}

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [
    PERMISSION_DENIED,
    'these credentials may not delete executions in the namespace; use some that may, and run it again, or wait for the retention of the namespace',
  ],
  [UNIMPLEMENTED, 'this server cannot delete executions; the retention of the namespace ends it'],
]);

async function describeRun(
  client: Client,
  execution: { workflowId: string; runId?: string },
  types: readonly string[] = [...KINDS.keys()],
): Promise<Execution | undefined> {
  const { namespace } = client.options;
  const described = await inTime(client, () =>
    client.workflowService.describeWorkflowExecution({ namespace, execution }),
  ).catch((error: unknown) => {
    if (errorCode(error) === NOT_FOUND && !isMissingNamespace(error)) return undefined;
    throw error;
  });
  const info = described?.workflowExecutionInfo;
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
async function listRuns(client: Client, condition: string): Promise<{ workflowId: string; runId: string }[]> {
  const types = [...KINDS.keys()].map((type) => `WorkflowType = '${type}'`).join(' OR ');
  const found: { workflowId: string; runId: string }[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await inTime(client, () =>
      client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        query: `${condition} AND (${types})`,
        pageSize: 500,
        nextPageToken,
      }),
    ).catch((error: unknown) => {
      if (errorCode(error) === UNIMPLEMENTED) return undefined;
      throw error;
    });
    for (const { execution } of page?.executions ?? []) {
      const { workflowId, runId } = execution ?? {};
      if (workflowId && runId) found.push({ workflowId, runId });
    }
    nextPageToken = page?.nextPageToken;
  } while (nextPageToken?.length);
  return found;
}

/** A name may contain anything. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
