import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type CarriedLedger,
  isLedgerEntry,
  type LedgerAnswer,
  type LedgerEntry,
  type LedgerReport,
  MOST_ENTRIES,
} from '../src/contract/ledger';
import { LEDGER_QUERY, LEDGER_UPDATE } from '../src/contract/names';
import { LONGEST_HISTORY_EVENTS } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import { Ledger } from './ledger';
import { ledgerDetails } from './ledger-details';
import { logEvent } from './log-event';
import { historyIsLong, ifContinued } from './runs';

/** Update: reserves, releases and settles videos under caps. Workers send it before and after a submit. */
export const writeLedger = defineUpdate<LedgerAnswer[], [LedgerEntry[]]>(LEDGER_UPDATE);
/** Query: what was taken of each cap. */
export const ledgerCounts = defineQuery<LedgerReport>(LEDGER_QUERY);

/**
 * Counts what the caps of a task queue allow. Workers start it with their first update, and it never ends: who terminates it
 * begins to count anew.
 *
 * @example
 * ```ts
 * const { counts } = await client.workflow.getHandle(ledgerIdOf('films')).query(ledgerCounts);
 * ```
 */
export async function keepLedger(carried?: CarriedLedger): Promise<void> {
  const ledger = new Ledger(Date.now(), ifContinued(carried));
  const show = () => setCurrentDetails(ledgerDetails(ledger.report()));
  setHandler(ledgerCounts, () => ledger.report(), {
    description: 'Returns what was taken of each cap',
  });
  setHandler(
    writeLedger,
    // It awaits nothing, so entries are written one after the other, and none is under way when the workflow continues as new.
    (entries) => {
      const answers = ledger.write(entries, Date.now());
      show();
      return answers;
    },
    { description: 'Reserves, releases and settles videos; sent by workers', validator: checkEntries },
  );
  show();
  // Without a timer: it costs nothing while nothing is submitted, and the first update of a day begins that day.
  await condition(() => historyIsLong(LONGEST_HISTORY_EVENTS));
  await condition(allHandlersFinished);
  logEvent('continuedAsNew');
  await continueAsNew<typeof keepLedger>(ledger.carry());
}

// It outlives every version of a worker: pinned to one, it would end all submits when the last worker of that version ends.
// The server refuses a behaviour from workers without versions.
setWorkflowOptions(
  () =>
    workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'AUTO_UPGRADE' } : {},
  keepLedger,
);

function checkEntries(entries: unknown): void {
  const isRight = Array.isArray(entries) && entries.length <= MOST_ENTRIES && entries.every(isLedgerEntry);
  if (!isRight) throw createFailure('InvalidRequest', { message: 'these are no entries of a ledger' });
}
