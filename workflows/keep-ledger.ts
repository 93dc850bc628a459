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
import { describeCap, describeUse } from '../src/contract/caps';
import { plainMarkdown } from '../src/contract/clean-text';
import {
  type CarriedLedger,
  isLedgerEntry,
  type LedgerAnswer,
  type LedgerCount,
  type LedgerEntry,
  type LedgerReport,
  MOST_ENTRIES,
} from '../src/contract/ledger';
import { LEDGER_QUERY, LEDGER_UPDATE } from '../src/contract/names';
import { LONGEST_HISTORY_EVENTS } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import { Ledger } from './ledger';
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

/** Nobody reads more; the query returns all. */
const MOST_SHOWN = 20;

/** What the Temporal UI shows, as markdown without tables, which it does not render. */
function ledgerDetails({ day, counts }: LedgerReport): string {
  const lines = counts.slice(0, MOST_SHOWN).flatMap(linesOf);
  const more = counts.length - MOST_SHOWN;
  return [
    `**What the caps have left on ${day} (UTC)**`,
    lines.map((line) => `- ${plainMarkdown(line)}`).join('\n') || 'Nothing is counted.',
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n\n');
}

function linesOf({ scope, name, limits, used, reserved }: LedgerCount): string[] {
  return limits.map((limit) => {
    const use = describeUse(limit, used, reserved);
    const whose = `${describeCap({ scope, name, ...limit })}${scope === 'batch' ? ` (${name})` : ''}`;
    return `${whose}: ${use.left} left, ${use.used} used, ${use.reserved} reserved`;
  });
}
