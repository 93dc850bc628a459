import type { BatchProgress } from '../../src/contract/batch';
import { codeMarkdown, plainMarkdown } from '../../src/contract/clean-text';
import { describeBatchCost } from '../../src/contract/job-cost';
import { commandOn } from '../../src/contract/lost-submit';

/** Nobody reads more; the progress query returns all. */
const MOST_ITEMS_SHOWN = 20;

/** What the Temporal UI shows of a batch, as markdown. The items are its child workflows, which show the rest. */
export function batchDetails({ items, succeeded, failed, running, stopping, cost }: BatchProgress): string {
  const held = running.filter(({ isHeld }) => isHeld).map(({ name }) => name);
  const first = held.slice(0, MOST_ITEMS_SHOWN).map((name) => codeMarkdown(name));
  const others = held.length - first.length;
  const lines = [
    `**${succeeded} of ${items ?? '?'} videos are stored**`,
    `${failed} failed, ${running.length} running: each is a child workflow of this one`,
    cost && `Cost: ${plainMarkdown(describeBatchCost(cost))}`,
    stopping && `No more items are started: ${plainMarkdown(stopping)}`,
    held[0] !== undefined &&
      `${held.length} need a decision: ${first.join(', ')}${others > 0 ? ` and ${others} more` : ''}. The submit got no answer, and a task may exist. Open the child workflow, or look for the task at the service and then run ${codeMarkdown(commandOn('decide', held[0], '--adopt TASK_ID'))} (or \`--resubmit\`, or \`--abandon\`).`,
  ];
  return lines.filter(Boolean).join('\n\n');
}
