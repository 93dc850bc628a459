import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import { codeMarkdown, plainMarkdown } from '../../src/contract/clean-text';
import { decideCommand } from '../../src/contract/lost-submit';

/** More would not be read; the query tells all. */
const MOST_ITEMS_TOLD = 20;

/** A batch's story so far for the Temporal UI, as markdown. */
export function batchDetails(progress: BatchProgress, workflowId: string): string {
  const { items, succeeded, failed, running, stopping } = progress;
  const held = running.filter(({ phase }) => phase === 'needs-decision');
  const others = running.length - Math.min(running.length, MOST_ITEMS_TOLD);
  const told = [
    `**${succeeded} of ${items ?? '?'} videos are stored**`,
    `${failed} failed, ${running.length} are under way`,
    stopping && `No more are begun: ${plainMarkdown(stopping)}`,
    held.length > 0 &&
      `${held.length} need a decision: the answer to the submit was lost, and a task may exist. Look for it at the service, then: ${codeMarkdown(decideCommand(workflowId, '--item NUMBER --adopt TASK_ID'))} (or \`--resubmit\`, or \`--abandon\`)`,
    running.slice(0, MOST_ITEMS_TOLD).map(describeItem).join('\n'),
    others > 0 && `and ${others} more`,
  ];
  return told.filter(Boolean).join('\n\n');
}

function describeItem({ item, phase, task, taskId, problem, signalled }: ItemProgress): string {
  const percent = task?.percent === undefined ? '' : ` ${Math.round(task.percent)} %`;
  const told = [
    `${phase}${percent}`,
    taskId && `task ${codeMarkdown(taskId)}`,
    problem && `problem: ${plainMarkdown(problem.message)}`,
    signalled?.refused && `a decision by signal was refused: ${plainMarkdown(signalled.refused)}`,
  ];
  return `- ${item}: ${told.filter(Boolean).join(', ')}`;
}
