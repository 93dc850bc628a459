import { describeDuration } from '../src/contract/duration';
import type { JobPhase, JobProgress } from '../src/contract/job';

const HEADLINES: Record<JobPhase, string> = {
  submitting: 'Submitting the request to the video service',
  waiting: 'Waiting for the video',
  downloading: 'Downloading the video',
  succeeded: 'The video is stored',
  failed: 'The job failed',
  cancelled: 'The job was cancelled',
};

/** A job's story so far for the Temporal UI, as markdown: it shows no tables. `ending` is told once there is one. */
export function currentDetails(progress: JobProgress, ending: string | undefined): string {
  const { phase, taskId, task, polls, nextLookAt, deadlineAt, trouble } = progress;
  const percent = task?.percent === undefined ? '' : `, ${Math.round(task.percent)} %`;
  const told = [
    `**${HEADLINES[phase]}**`,
    taskId && `Task \`${taskId}\``,
    task && `The service says: ${task.word || task.state}${percent} (look ${polls})`,
    nextLookAt && `Next look at ${nextLookAt}`,
    trouble && `Trouble, ${trouble.count} in a row: ${trouble.message}`,
    ending ??
      `Deadline ${deadlineAt}, in ${describeDuration(Math.max(0, Date.parse(deadlineAt) - Date.now()))}`,
  ];
  return told.filter(Boolean).join('\n\n');
}
