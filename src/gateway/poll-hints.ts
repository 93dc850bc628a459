import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { POLL_NOW_SIGNAL, SEARCH_ATTRIBUTES, TASK_ID_MEMO, WORKFLOW_TYPE } from '../contract/names';
import { encrypts } from '../encryption/data-converter';
import { decodeFirst } from '../encryption/decode-first';
import { idsInJobs } from '../service';
import { withDeadline } from './temporal-deadline';

const [TASK_ID] = SEARCH_ATTRIBUTES;

/** A service that sends more hints than this about one task makes no more polls by it. */
const HINT_EVERY_MS = 1_000;
/** A gateway that ends waits this long for its last hints. */
const HINT_WITHIN_MS = 2_000;
/** Task ids that were hinted at within that time. A gateway that gets more drops the rest: polling finds them. */
const MOST_REMEMBERED = 1_000;
/** Nothing that would need escaping in a visibility query. Task ids with other characters are polled without hints. */
const SEARCHABLE = /^[\w.:/+=@~-]{1,255}$/;

/** Drops hints of which there are too many, and those about tasks that cannot be searched for. */
export class PollHints {
  private readonly hintedAtMs = new Map<string, number>();

  constructor(
    private readonly pollNow: (taskId: string) => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  async hint(taskId: string): Promise<void> {
    if (!SEARCHABLE.test(taskId) || !this.mayHint(taskId)) return;
    await this.pollNow(taskId);
  }

  private mayHint(taskId: string): boolean {
    const nowMs = this.now();
    // The oldest come first.
    for (const [hinted, atMs] of this.hintedAtMs) {
      if (nowMs - atMs < HINT_EVERY_MS) break;
      this.hintedAtMs.delete(hinted);
    }
    if (this.hintedAtMs.has(taskId) || this.hintedAtMs.size >= MOST_REMEMBERED) return false;
    this.hintedAtMs.set(taskId, nowMs);
    return true;
  }
}

const RUNNING = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;

/** How many running jobs are searched for a task that is not in the search attributes. Beyond them polling finds it. */
const MOST_SEARCHED = 1_000;
const SEARCHED_AT_ONCE = 100;

/** By the search attribute, or by the memo where a client that encrypts leaves the attribute out. */
async function* runningJobsOf(client: Client, taskId: string): AsyncGenerator<string, void, undefined> {
  const ids = idsInJobs(taskId);
  const query = `${RUNNING} AND ${TASK_ID} IN (${ids.map((id) => `'${id}'`).join(', ')})`;
  for await (const { workflowId } of client.workflow.list({ query, pageSize: 10 })) yield workflowId;
  const { namespace, loadedDataConverter } = client.options;
  if (!encrypts(loadedDataConverter)) return;
  let nextPageToken: Uint8Array | undefined;
  for (let searched = 0; searched < MOST_SEARCHED; searched += SEARCHED_AT_ONCE) {
    const page = await client.workflowService.listWorkflowExecutions({
      namespace,
      query: `${RUNNING} AND ${TASK_ID} IS NULL`,
      pageSize: SEARCHED_AT_ONCE,
      nextPageToken,
    });
    for (const { execution, memo } of page.executions ?? []) {
      const payload = memo?.fields?.[TASK_ID_MEMO];
      if (!payload || !execution?.workflowId) continue;
      const found = await decodeFirst(loadedDataConverter, { payloads: [payload] }).catch(() => undefined);
      if (ids.some((id) => id === found)) yield execution.workflowId;
    }
    nextPageToken = page.nextPageToken ?? undefined;
    if (!nextPageToken?.length) return;
  }
}

/** Has the running jobs of a task poll it now, if there are any. */
export function pollTaskNow(client: Client, taskId: string): Promise<void> {
  const { workflow } = client;
  const signalAll = async () => {
    for await (const workflowId of runningJobsOf(client, taskId)) {
      // It may have ended since.
      await workflow
        .getHandle(workflowId)
        .signal(POLL_NOW_SIGNAL)
        .catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
    }
  };
  return withDeadline(client, signalAll, HINT_WITHIN_MS);
}
