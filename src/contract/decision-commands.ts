import type { FailureType } from './failure-table';
import { inShell } from './in-shell';

/** How a lost submit can be settled from a terminal, for people who read of it there or in the Temporal UI. */
export function decisionCommands(workflowId: string, item?: number): { when: string; command: string }[] {
  const decide = (decision: string) =>
    decideCommand(workflowId, item === undefined ? decision : `--item ${item} ${decision}`);
  return [
    { when: 'the task is there', command: decide('--adopt TASK_ID') },
    {
      when: 'it is not there; if it comes after all, both are paid for',
      command: decide('--resubmit'),
    },
    { when: 'the video is no longer wanted', command: decide('--abandon') },
  ];
}

export function decideCommand(workflowId: string, options: string): string {
  const name = inShell(workflowId);
  // Before `--` it would be read as an option.
  return workflowId.startsWith('-')
    ? `videogen decide ${options} -- ${name}`
    : `videogen decide ${name} ${options}`;
}

/** The same in half a sentence. */
export function describeDecisionCommands(workflowId: string): string {
  return `decide with ${decisionCommands(workflowId)
    .map(({ command }) => command)
    .join(', or ')}`;
}

/** What picks up the task of a job that failed; undefined when nothing would come of it. */
export function adoptCommand({ type, taskId }: { type: FailureType; taskId?: string }): string | undefined {
  // The task ended badly, or is not there.
  if (['GenerationFailed', 'GenerationCancelled', 'TaskUnknown'].includes(type)) return undefined;
  if (taskId !== undefined) return `videogen generate --adopt ${inShell(taskId)}`;
  return type === 'SubmitUnconfirmed' ? 'videogen generate --adopt TASK_ID' : undefined;
}
