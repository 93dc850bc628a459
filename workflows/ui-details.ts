import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { describeDuration } from '../src/contract/duration';
import type { JobPhase, JobProgress } from '../src/contract/job';
import { decisionCommands } from '../src/contract/lost-submit';
import { type Searchable, searchAttributesOf } from '../src/contract/search-attributes';
import { describeDownload } from '../src/contract/summaries';

const HEADLINES: Record<JobPhase, string> = {
  submitting: 'Submitting the request to the video service',
  'needs-decision': 'Needs a decision: the answer to the submit was lost, and a task may exist',
  waiting: 'Waiting for the video',
  downloading: 'Downloading the video',
  succeeded: 'The video is stored',
  failed: 'The job failed',
  cancelled: 'The job was cancelled',
};

/** A job's story so far for the Temporal UI, as markdown: it shows no tables. `ending` is markdown, and told once there is one. */
export function currentDetails(
  progress: JobProgress,
  ending: string | undefined,
  workflowId: string,
): string {
  const { phase, taskId, task, polls, nextPollAt, deadlineAt, hold, signalled, problem, download } = progress;
  const percent = task?.percent === undefined ? '' : `, ${Math.round(task.percent)} %`;
  const told = [
    `**${HEADLINES[phase]}**`,
    taskId && `Task ${codeMarkdown(taskId)}`,
    task && `The service says: ${plainMarkdown(task.word || task.state)}${percent} (look ${polls})`,
    nextPollAt && `Next look at ${nextPollAt}`,
    download && describeDownload(download),
    problem && `Problem, ${problem.count} in a row: ${plainMarkdown(problem.message)}`,
    hold && describeHold(hold, workflowId),
    signalled?.refused && `A decision that came as a signal was refused: ${plainMarkdown(signalled.refused)}`,
    ending ??
      `Deadline ${deadlineAt}, in ${describeDuration(Math.max(0, Date.parse(deadlineAt) - Date.now()))}${hold ? ', standing still' : ''}`,
  ];
  return told.filter(Boolean).join('\n\n');
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
    'Or send the update (or the signal) `decideSubmit` with `{"decision":"adopt","taskId":"…"}`, `{"decision":"resubmit"}` or `{"decision":"abandon"}`.',
  ].join('\n\n');
}

/**
 * Keeps those of the search attributes up to date that the job was started with, and no others: the server refuses to start
 * a job with one that is not registered, but would have a running one try for ever to set it. Each call costs an Action.
 */
export function keepSearchable(job: Searchable): void {
  if (isAboutToWait(job)) return;
  const { typedSearchAttributes } = workflowInfo();
  const changed = searchAttributesOf(job).filter(({ key, value }) => {
    const present = typedSearchAttributes.get(key);
    return present !== undefined && present !== value;
  });
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** A job that has just got its task waits for it from the same moment on: one call tells both. */
function isAboutToWait({ phase, taskId }: Searchable): boolean {
  return taskId !== undefined && (phase === 'submitting' || phase === 'needs-decision');
}
