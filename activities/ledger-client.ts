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

interface Waiting {
  client: Client;
  entry: LedgerEntry;
  resolve(answer: LedgerAnswer): void;
  reject(error: unknown): void;
}

/**
 * One update of a process at a time, with all that came up meanwhile: Temporal allows a workflow ten updates in flight, and
 * each costs the same, however much is in it.
 */
class LedgerClient {
  private waiting: Waiting[] = [];
  private isSending = false;
  /** What could not be written goes along with the next update. The oldest are given up: their reservations stay counted. */
  private late: LedgerEntry[] = [];

  constructor(private readonly taskQueue: string) {}

  write(client: Client, entry: LedgerEntry): Promise<LedgerAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ client, entry, resolve, reject });
      if (!this.isSending) void this.sendAll();
    });
  }

  private async sendAll(): Promise<void> {
    this.isSending = true;
    // What is written in the same turn of the event loop goes together.
    await Promise.resolve();
    while (this.waiting.length > 0)
      await this.send(this.late.splice(0), this.waiting.splice(0, MOST_ENTRIES));
    this.isSending = false;
  }

  private async send(late: LedgerEntry[], batch: Waiting[]): Promise<void> {
    const entries = [...late, ...batch.map(({ entry }) => entry)];
    try {
      // The clients of workers that have ended no longer answer, so the newest is asked.
      const answers = await this.update(batch.at(-1)?.client, entries);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers?.[late.length + index];
        if (answer) resolve(answer);
        else reject(new Error('the ledger gave no answer'));
      }
    } catch (error) {
      // A reservation that may have been written is given back: its attempt sends nothing.
      const undone = entries.map((entry) =>
        'cost' in entry ? entry : { id: entry.id, cost: 'nothing' as const },
      );
      this.late = [...this.late, ...undone].slice(-MOST_ENTRIES);
      for (const { reject } of batch) reject(error);
    }
  }

  /** The SDK repeats a call that Temporal refuses for a moment. Then Temporal retries the activity. */
  private update(client: Client | undefined, entries: LedgerEntry[]): Promise<LedgerAnswer[]> | undefined {
    const { taskQueue } = this;
    const startWorkflowOperation = new WithStartWorkflowOperation(LEDGER_WORKFLOW_TYPE, {
      workflowId: ledgerIdOf(taskQueue),
      taskQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: 'counts what the caps allow',
    });
    return client?.withDeadline(Date.now() + LEDGER_WITHIN_MS, () =>
      client.workflow.executeUpdateWithStart<Workflow, LedgerAnswer[], [LedgerEntry[]]>(LEDGER_UPDATE, {
        args: [entries],
        updateId: randomUUID(),
        startWorkflowOperation,
      }),
    );
  }
}
