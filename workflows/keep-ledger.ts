import {
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import { describeCap, describeUse } from '../src/contract/caps';
import { plainMarkdown } from '../src/contract/clean-text';
import type { CarriedLedger, LedgerAnswer, LedgerEntry, LedgerReport } from '../src/contract/ledger';
import { LEDGER_QUERY, LEDGER_UPDATE } from '../src/contract/names';
import { LONGEST_HISTORY_EVENTS, LONGEST_LEDGER_RUN_MS } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import { Ledger } from './ledger';
import { logEvent } from './log-event';
import { historyIsLong, ifContinued } from './runs';

/** Update: reserves and settles videos under caps. Workers send it before a submit, and when its task has ended. */
export const writeLedger = defineUpdate<LedgerAnswer[], [LedgerEntry[]]>(LEDGER_UPDATE);
/** Query: what was taken of each cap. */
export const ledgerCounts = defineQuery<LedgerReport>(LEDGER_QUERY);

/**
 * Counts what the caps of a task queue allow. Workers start it with their first update, and it never ends: if you terminate
 * it, it counts from zero.
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
      try {
        return ledger.write(entries, Date.now());
      } catch (error) {
        // Any program can send an update, of any shape. It must not keep the workflow from going on.
        throw createFailure('InvalidRequest', { message: `these are no entries of a ledger: ${error}` });
      } finally {
        show();
      }
    },
    { description: 'Reserves and settles videos; sent by workers' },
  );
  show();
  await condition(() => historyIsLong(LONGEST_HISTORY_EVENTS), LONGEST_LEDGER_RUN_MS);
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

/** Nobody reads more; the query returns all. */
const MOST_SHOWN = 20;

/** What the Temporal UI shows, as markdown without tables, which it does not render. */
function ledgerDetails({ day, counts }: LedgerReport): string {
  const lines = counts.slice(0, MOST_SHOWN).flatMap((count) =>
    count.limits.map((limit) => {
      const use = describeUse(limit, count.used, count.reserved);
      const whose = `${describeCap(count, limit)}${count.scope === 'batch' ? ` (${count.name})` : ''}`;
      return `- ${plainMarkdown(`${whose}: ${use.left} left, ${use.used} used, ${use.reserved} reserved`)}`;
    }),
  );
  const more = counts.length - MOST_SHOWN;
  return [
    `**What the caps have left on ${day} (UTC)**`,
    lines.join('\n') || 'Nothing is counted.',
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n\n');
}
