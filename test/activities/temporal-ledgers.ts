import type { LedgerAnswer, LedgerEntry } from '../../src/contract/caps';

type Answer = (entries: LedgerEntry[]) => LedgerAnswer[] | Promise<LedgerAnswer[]>;

interface SentUpdate {
  workflowId: string;
  taskQueue: string;
  args: unknown[];
  entries: LedgerEntry[];
  deadline: number;
}

/** The client of a Temporal that answers the updates of its ledgers as a test says, and what was sent to it. */
export function temporalWithLedgers(answer: Answer) {
  const sent: SentUpdate[] = [];
  let deadline = 0;
  const client = {
    options: { namespace: 'films' },
    connection: {},
    withDeadline: async (untilMs: number, call: () => Promise<unknown>) => {
      deadline = untilMs;
      return call();
    },
    workflow: {
      executeUpdateWithStart: async (
        _update: string,
        {
          args: [entries],
          startWorkflowOperation: { options },
        }: {
          args: [LedgerEntry[]];
          startWorkflowOperation: { options: { workflowId: string; taskQueue: string; args: unknown[] } };
        },
      ) => {
        const { workflowId, taskQueue, args } = options;
        sent.push({ workflowId, taskQueue, args, entries, deadline });
        return answer(entries);
      },
    },
  };
  return { client, sent };
}
