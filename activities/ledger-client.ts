import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../src/contract/caps';
import { LEDGER_UPDATE, LEDGER_WORKFLOW_TYPE, ledgerIdOf } from '../src/contract/names';
import { LEDGER_WITHIN_MS } from '../src/contract/policies';

/** Writes into the ledger of a task queue. Throws when it cannot be known whether that was done. */
export interface LedgerWriter {
  write(taskQueue: string, entry: LedgerEntry): Promise<LedgerAnswer>;
}

/** The ledgers of Temporal, through the client of the worker that runs the activity. */
export function ledgersInTemporal(clientNow: () => Client = () => Context.current().client): LedgerWriter {
  const ledgers = new Map<string, LedgerClient>();
  return {
    write: async (taskQueue, entry) => {
      const client = clientNow();
      const key = `${client.options.namespace}/${taskQueue}`;
      const ledger = ledgers.get(key) ?? new LedgerClient(taskQueue);
      ledgers.set(key, ledger);
      return ledger.write(client, entry);
    },
  };
}

/**
 * One update of a process at a time, with all that came up meanwhile: Temporal allows a workflow ten updates in flight, and
 * each costs the same, however much is in it.
 */
class LedgerClient {
  /** What goes into one update as soon as those before it have ended. */
  private next: ReturnType<LedgerClient['begin']> | undefined;
  private lastUpdate: Promise<unknown> = Promise.resolve();
  /** What could not be written goes along with the next update. The oldest are given up: their reservations stay counted. */
  private late: LedgerEntry[] = [];

  constructor(private readonly taskQueue: string) {}

  async write(client: Client, entry: LedgerEntry): Promise<LedgerAnswer> {
    if (this.next === undefined || this.next.entries.length === MOST_ENTRIES) this.next = this.begin(client);
    const { entries, answers } = this.next;
    const index = entries.push(entry) - 1;
    const answer = (await answers)[index];
    if (answer === undefined) throw new Error('the ledger gave no answer');
    return answer;
  }

  private begin(client: Client) {
    const entries: LedgerEntry[] = [];
    const answers = this.lastUpdate.then(() => this.send(client, entries));
    this.lastUpdate = answers.catch(() => undefined);
    return { entries, answers };
  }

  private async send(client: Client, batch: LedgerEntry[]): Promise<LedgerAnswer[]> {
    if (this.next?.entries === batch) this.next = undefined;
    const late = this.late.splice(0);
    const entries = [...late, ...batch];
    try {
      return (await this.update(client, entries)).slice(late.length);
    } catch (error) {
      // A reservation that may have been written is given back: its attempt sends nothing.
      const undone = entries.map((entry) =>
        'cost' in entry ? entry : { id: entry.id, cost: 'nothing' as const },
      );
      this.late = [...this.late, ...undone].slice(-MOST_ENTRIES);
      throw error;
    }
  }

  /** The SDK repeats a call that Temporal refuses for a moment. Then Temporal retries the activity. */
  private update(client: Client, entries: LedgerEntry[]): Promise<LedgerAnswer[]> {
    const { taskQueue } = this;
    const startWorkflowOperation = new WithStartWorkflowOperation(LEDGER_WORKFLOW_TYPE, {
      workflowId: ledgerIdOf(taskQueue),
      taskQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: 'counts what the caps allow',
    });
    return client.withDeadline(Date.now() + LEDGER_WITHIN_MS, () =>
      client.workflow.executeUpdateWithStart<Workflow, LedgerAnswer[], [LedgerEntry[]]>(LEDGER_UPDATE, {
        args: [entries],
        updateId: randomUUID(),
        startWorkflowOperation,
      }),
    );
  }
}
