import type { Client } from '@temporalio/client';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { errorCode, GRPC_STATUS } from '../contract/error-code';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';

/** Temporal answers within milliseconds; a silent one must not hold a command for good. */
const ANSWERS_WITHIN_MS = 10_000;

const PAGE_SIZE = 500;

/** What our workflow types are to people. */
export const KINDS: ReadonlyMap<string, 'job' | 'batch'> = new Map([
  [WORKFLOW_TYPE, 'job'],
  [FALLBACK_WORKFLOW_TYPE, 'job'],
  [BATCH_WORKFLOW_TYPE, 'batch'],
]);

/** The condition for a list of jobs and batches. */
export const OF_OUR_TYPES = `(${[...KINDS.keys()].map((type) => `WorkflowType = '${type}'`).join(' OR ')})`;

type NameField = 'WorkflowId' | 'ParentWorkflowId';

/**
 * A condition of a list for names that start so. Temporal finds no text with a quote or a backslash, however it is escaped: it is
 * asked for what is before, so the caller compares.
 */
export const nameStartsWith = (field: NameField, start: string) =>
  `${field} STARTS_WITH '${start.split(UNQUOTABLE)[0]}'`;

/** A condition for one name, which the caller compares too. */
export const nameIs = (field: NameField, name: string) =>
  UNQUOTABLE.test(name) ? nameStartsWith(field, name) : `${field} = '${name}'`;

const UNQUOTABLE = /['"\\]/;

/** Every call to Temporal in it fails after a while. */
export function inTime<T>(
  client: Client,
  calls: () => Promise<T>,
  withinMs: number = ANSWERS_WITHIN_MS,
): Promise<T> {
  return client.withDeadline(Date.now() + withinMs, calls);
}

/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 3_000;

/** The answer of a worker to a query. */
export const askWorker = <T>(client: Client, query: () => Promise<T>) =>
  inTime(client, query, QUERY_WITHIN_MS);

/** Whether Temporal says that it does not have the workflow. It has the same status for a namespace that it does not have. */
export const isNotThere = (error: unknown): boolean =>
  errorCode(error) === GRPC_STATUS.notFound && !/NOT_FOUND: Namespace /.test(String(error));

/**
 * A run as Temporal describes it, the last one by default; undefined when there is none. Memos are not decoded: those that another
 * program has encrypted could not be.
 */
export async function describeRun(client: Client, execution: { workflowId: string; runId?: string }) {
  const { namespace } = client.options;
  try {
    return await inTime(client, () =>
      client.workflowService.describeWorkflowExecution({ namespace, execution }),
    );
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

export type DescribedRun = NonNullable<Awaited<ReturnType<typeof describeRun>>>;

/** One run of a workflow. */
export type ListedRun = ReturnType<typeof runOf>;

export function runOf(info: NonNullable<DescribedRun['workflowExecutionInfo']>) {
  const { execution, type, closeTime, startTime, firstRunId, parentExecution } = info;
  const runId = execution?.runId ?? '';
  return {
    workflowId: execution?.workflowId ?? '',
    runId,
    firstRunId: firstRunId || runId,
    type: type?.name,
    isRunning: !closeTime,
    startTime: requiredTsToDate(startTime, 'startTime'),
    parentId: parentExecution?.workflowId || undefined,
  };
}

/** The runs of a list in Temporal's order. A server that falls silent ends it with an error. */
export async function* listRuns(client: Client, query: string): AsyncGenerator<ListedRun, void, undefined> {
  const { namespace } = client.options;
  let nextPageToken: Uint8Array | undefined;
  do {
    const asked = { namespace, query, pageSize: PAGE_SIZE, nextPageToken };
    const page = await inTime(client, () => client.workflowService.listWorkflowExecutions(asked));
    yield* page.executions.map(runOf);
    nextPageToken = page.nextPageToken;
  } while (nextPageToken?.length);
}
