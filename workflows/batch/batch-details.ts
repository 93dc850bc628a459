import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import { codeMarkdown, plainMarkdown } from '../../src/contract/clean-text';
import { commandOn } from '../../src/contract/job-commands';
import { describeBatchCost } from '../../src/contract/job-cost';

/** Nobody reads more; the progress query returns all. */
const MOST_ITEMS_SHOWN = 20;

/** What is shown of an item. */
export type ShownItem = Pick<
  ItemProgress,
  'item' | 'phase' | 'task' | 'taskId' | 'service' | 'problem' | 'signalled'
>;

/** What the Temporal UI shows of a batch, as markdown. */
export function batchDetails(
  progress: Omit<BatchProgress, 'running'> & { running: ShownItem[] },
  workflowId: string,
): string {
  const { items, succeeded, failed, running, stopping, cost } = progress;
  const held = running.filter(({ phase }) => phase === 'needs-decision');
  const others = running.length - Math.min(running.length, MOST_ITEMS_SHOWN);
  const lines = [
    `**${succeeded} of ${items ?? '?'} videos are stored**`,
    `${failed} failed, ${running.length} running`,
    cost && `Cost: ${plainMarkdown(describeBatchCost(cost))}`,
    stopping && `No more items are started: ${plainMarkdown(stopping)}`,
    held.length > 0 &&
      `${held.length} need a decision: the submit got no answer, and a task may exist. Look for it at the service, then run ${codeMarkdown(commandOn('decide', workflowId, '--item NUMBER --adopt TASK_ID'))} (or \`--resubmit\`, or \`--abandon\`). Or here in the Temporal UI: More Actions, Send an Update, select \`decideSubmit\` and enter \`{"item":NUMBER,"decision":"adopt","taskId":"TASK_ID"}\` (or \`resubmit\`, or \`abandon\`).`,
    running.slice(0, MOST_ITEMS_SHOWN).map(describeItem).join('\n'),
    others > 0 && `and ${others} more`,
  ];
  return lines.filter(Boolean).join('\n\n');
}

function describeItem({ item, phase, task, taskId, service, problem, signalled }: ShownItem): string {
  const percent = task?.percent === undefined ? '' : ` ${Math.round(task.percent)} %`;
  const parts = [
    `${phase}${percent}`,
    taskId && `task ${codeMarkdown(taskId)}`,
    service && `service ${codeMarkdown(service)}`,
    problem && `last poll failed: ${plainMarkdown(problem.message)}`,
    signalled?.refused && `a decision by signal was refused: ${plainMarkdown(signalled.refused)}`,
  ];
  return `- ${item}: ${parts.filter(Boolean).join(', ')}`;
}
