import { describeDuration } from '../src/contract/duration';
import type { JobPhase, JobProgress } from '../src/contract/job';
import { codeMarkdown, plainMarkdown } from '../src/contract/markdown';
import { describeDownload } from '../src/contract/summaries';
import { waysOut } from '../src/contract/ways-out';

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
  const { phase, taskId, task, polls, nextLookAt, deadlineAt, hold, signalled, trouble, download } = progress;
  const percent = task?.percent === undefined ? '' : `, ${Math.round(task.percent)} %`;
  const told = [
    `**${HEADLINES[phase]}**`,
    taskId && `Task ${codeMarkdown(taskId)}`,
    task && `The service says: ${plainMarkdown(task.word || task.state)}${percent} (look ${polls})`,
    nextLookAt && `Next look at ${nextLookAt}`,
    download && describeDownload(download),
    trouble && `Trouble, ${trouble.count} in a row: ${plainMarkdown(trouble.message)}`,
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
    waysOut(workflowId)
      .map(({ when, command }) => `- ${when}: ${codeMarkdown(command)}`)
      .join('\n'),
    'Or send the update (or the signal) `decideSubmit` with `{"decision":"adopt","taskId":"…"}`, `{"decision":"resubmit"}` or `{"decision":"abandon"}`.',
  ].join('\n\n');
}
