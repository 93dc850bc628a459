import type { Client } from '@temporalio/client';
import type { LedgerReport } from '../../src/contract/caps';
import { LEDGER_QUERY, ledgerIdOf } from '../../src/contract/names';

/** What the ledger of a task queue has counted. */
export const ledgerOf = ({ workflow }: Client, taskQueue: string) =>
  workflow.getHandle(ledgerIdOf(taskQueue)).query<LedgerReport>(LEDGER_QUERY);
