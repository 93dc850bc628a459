import { CAP_UNITS, type CapUnit, describeAmount, describeCap, leftOf, takenOf } from '../src/contract/caps';
import { plainMarkdown } from '../src/contract/clean-text';
import type { LedgerCount, LedgerReport } from '../src/contract/ledger';

/** Nobody reads more; the query returns all. */
const MOST_SHOWN = 20;

/** What the Temporal UI shows of a ledger, as markdown without tables, which it does not render. */
export function ledgerDetails({ day, counts }: LedgerReport): string {
  const lines = counts.slice(0, MOST_SHOWN).flatMap(linesOf);
  const more = counts.length - Math.min(counts.length, MOST_SHOWN);
  return [
    `**What the caps have left on ${day} (UTC)**`,
    lines.map((line) => `- ${plainMarkdown(line)}`).join('\n') || 'Nothing is counted.',
    more > 0 && `and ${more} more`,
  ]
    .filter(Boolean)
    .join('\n\n');
}

function linesOf({ scope, name, cap, used, reserved }: LedgerCount): string[] {
  return CAP_UNITS.filter((unit) => cap[unit] != null).map((unit) => {
    const { limit, left, currency } = leftOf(cap, unit, used, reserved);
    const amount = (value: number) => describeAmount(unit, value, currency);
    const of = describeCap({ scope, name, unit, limit, currency });
    return `${of}${scope === 'batch' ? ` (${name})` : ''}: ${amount(left)} left, ${takenText(unit, amount, { used, reserved, currency })}`;
  });
}

function takenText(
  unit: CapUnit,
  amount: (value: number) => string,
  { used, reserved, currency }: Pick<LedgerCount, 'used' | 'reserved'> & { currency?: string },
): string {
  return `${amount(takenOf(used, unit, currency))} used, ${amount(takenOf(reserved, unit, currency))} reserved`;
}
