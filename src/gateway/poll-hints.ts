import type { Client } from '@temporalio/client';
import { POLL_NOW_SIGNAL, WORKFLOW_TYPE } from '../contract/names';
import { SEARCH_ATTRIBUTES } from '../contract/search-attributes';

const [TASK_ID] = SEARCH_ATTRIBUTES;

/** A service that sends more hints than this about one task makes no more polls by it. */
const HINT_EVERY_MS = 1_000;
/** Task ids that were hinted at within that time. A gateway that gets more drops the rest: polling finds them. */
const MOST_REMEMBERED = 1_000;
/** Nothing that would need escaping in a visibility query. Task ids with other characters are polled without hints. */
const SEARCHABLE = /^[\w.:/+=@~-]{1,255}$/;

/** Has jobs poll their tasks early when the service says that something happened. */
export class PollHints {
  private readonly hintedAtMs = new Map<string, number>();

  constructor(
    private readonly client: Pick<Client, 'workflow'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Signals the running jobs of a task, if there are any. */
  async hint(taskId: string): Promise<void> {
    if (!SEARCHABLE.test(taskId) || !this.mayHint(taskId)) return;
    const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running' AND ${TASK_ID} = '${taskId}'`;
    for await (const { workflowId } of this.client.workflow.list({ query, pageSize: 10 })) {
      // It may have ended since.
      await this.client.workflow
        .getHandle(workflowId)
        .signal(POLL_NOW_SIGNAL)
        .catch(() => undefined);
    }
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
