import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { BatchProgress } from '../src/contract/batch';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { describeDuration } from '../src/contract/duration';
import type { FailureType } from '../src/contract/failure-table';
import type { JobPhase, JobProgress } from '../src/contract/job';
import { describeBatchCost, describeCost } from '../src/contract/job-cost';
import { commandOn, decisionCommands } from '../src/contract/lost-submit';
import {
  COST_MEMO,
  LOST_SUBMIT_MEMO,
  SERVICE_MEMO,
  type Searchable,
  searchAttributesOf,
  TASK_ID_MEMO,
} from '../src/contract/names';

const HEADLINES: Record<JobPhase, string> = {
  submitting: 'Submitting the request to the video service',
  'needs-decision': 'Needs a decision: the answer to the submit was lost, and a task may exist',
  waiting: 'Waiting for the video',
  downloading: 'Downloading the video',
  succeeded: 'The video is stored',
  failed: 'The job failed',
  cancelled: 'The job was cancelled',
};

/** Shows a job: in the Temporal UI, in lists and to searches. */
export function showJob(
  progress: JobProgress,
  { ending, failure }: { ending?: string; failure?: FailureType },
): void {
  setCurrentDetails(currentDetails(progress, ending, workflowInfo().workflowId));
  updateMemo(progress);
  updateSearchAttributes({ ...progress, failure });
}

/** What the Temporal UI shows of a job, as markdown without tables, which it does not render. */
export function currentDetails(
  progress: JobProgress,
  ending: string | undefined,
  workflowId: string,
): string {
  const { phase, taskId, task, polls, nextPollAt, deadlineAt, hold, problem } = progress;
  const { child, cost, service, unservedQueue } = progress;
  const percent = task?.percent === undefined ? '' : `, ${Math.round(task.percent)} %`;
  const lines = [
    `**${HEADLINES[phase]}**`,
    taskId && `Task ${codeMarkdown(taskId)}`,
    service && `Service ${codeMarkdown(service)}`,
    cost && `Cost: ${plainMarkdown(describeCost(cost))}`,
    task && `The service says: ${plainMarkdown(task.word || task.state)}${percent} (poll ${polls})`,
    nextPollAt && `Next poll at ${nextPollAt}`,
    problem &&
      `Last ${problem.count === 1 ? 'poll' : `${problem.count} polls`} failed: ${plainMarkdown(problem.message)}`,
    unservedQueue && `No worker serves the task queue ${codeMarkdown(unservedQueue)}: the job waits for one`,
    // Only the job at the service takes a decision, and its details say how.
    child === undefined && hold && describeHold(hold, workflowId),
    ending ??
      `Deadline ${deadlineAt}, in ${describeDuration(Math.max(0, Date.parse(deadlineAt) - Date.now()))}${hold ? ', stopped while the job is held' : ''}`,
  ];
  return lines.filter(Boolean).join('\n\n');
}

function describeHold(
  { since, until, message }: NonNullable<JobProgress['hold']>,
  workflowId: string,
): string {
  return [
    `At ${since}: ${plainMarkdown(message)}`,
    `Look for the task at the service and decide before ${until}, when the job fails:`,
    decisionCommands(workflowId)
      .map(({ when, command }) => `- ${when}: ${codeMarkdown(command)}`)
      .join('\n'),
    // In the words of its buttons.
    'Or here in the Temporal UI: More Actions, Send an Update, select `decideSubmit` and enter `{"decision":"adopt","taskId":"TASK_ID"}`, `{"decision":"resubmit"}` or `{"decision":"abandon"}`.',
  ].join('\n\n');
}

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

/**
 * Updates the search attributes that the job was started with, and no others. The server refuses to start a job with an
 * unregistered attribute, but a running job that sets one would retry its workflow task for ever. Each update costs an Action.
 */
function updateSearchAttributes(job: Searchable): void {
  const { typedSearchAttributes } = workflowInfo();
  const changed = searchAttributesOf(job).filter(({ key, value }) => {
    const present = typedSearchAttributes.get(key);
    return present !== undefined && present !== value;
  });
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** What lists of jobs show without asking each job. Only what changed is written: each update is an event. */
function updateMemo({ taskId, service, hold, cost }: JobProgress): void {
  const { memo = {} } = workflowInfo();
  const changed = {
    ...(taskId !== undefined && { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service }),
    ...(hold && memo[LOST_SUBMIT_MEMO] === undefined && { [LOST_SUBMIT_MEMO]: hold.since }),
    // A retry repeats the lost submit there.
    ...(hold && service !== undefined && { [SERVICE_MEMO]: service }),
    ...(cost && { [COST_MEMO]: cost }),
  };
  const differing = Object.entries(changed).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(memo[name]),
  );
  if (differing.length > 0)
    upsertMemo(Object.fromEntries(differing.map(([name, value]) => [name, value ?? null])));
}
