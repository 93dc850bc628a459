import type { JobOverview } from '../client/overview';
import type { BatchProgress } from '../contract/batch';
import { oneLine, shown } from '../contract/clean-text';
import type { JobProgress, JobResult } from '../contract/job';
import { chargesOf, describeBatchCost, describeCost } from '../contract/job-cost';
import { decisionCommands } from '../contract/lost-submit';
import { describeSum, sumOf } from '../contract/money';
import { describeVideo } from '../contract/summaries';
import { type Column, tableLines } from './text-table';

type Retrying = NonNullable<JobOverview['retrying']>;

export type Progress = JobProgress | BatchProgress;

/** A job or a batch with what a worker answered, if one was asked. */
export interface JobRow extends JobOverview {
  progress?: Progress | undefined;
}

const PHASES: Record<JobProgress['phase'], string> = {
  submitting: 'submitting',
  'needs-decision': 'needs a decision',
  waiting: 'waiting',
  downloading: 'downloading',
  succeeded: 'stored',
  failed: 'failed',
  cancelled: 'cancelled',
};

const BAR_CELLS = 10;

export function isBatch(progress: Progress): progress is BatchProgress {
  return 'running' in progress;
}

/** The progress in one line. The parts that change every second need a time: a pipe gets each line once. */
export function progressLine(progress: Progress, nowMs?: number): string {
  if (isBatch(progress)) return batchLine(progress);
  const { phase, task, taskId, problem, cost, nextPollAt } = progress;
  const percent = percentOf(progress);
  return listed([
    `${PHASES[phase]}${percent === undefined ? '' : ` ${percent} %`}`,
    nextPollAt && nowMs !== undefined && `next poll in ${ageText(Date.parse(nextPollAt) - nowMs)}`,
    problem && `problem, ${problem.count} in a row: ${shown(problem.message)}`,
    cost && `cost ${describeCost(cost)}`,
    task && `the service says ${shown(task.word || task.state)}`,
    taskId && `task ${shown(taskId)}`,
  ]);
}

/** What a worker answered, and the attempt that failed last. */
export function rowLine({ progress, retrying, ...row }: JobRow, nowMs?: number): string {
  return listed([
    progress ? progressLine(progress, nowMs) : phaseText(row),
    retrying && retryText(retrying, nowMs),
  ]);
}

function retryText({ attempt, message, nextAttemptAt }: Retrying, nowMs?: number): string {
  const waits = nextAttemptAt && nowMs !== undefined;
  return `attempt ${attempt}${waits ? ` in ${ageText(Date.parse(nextAttemptAt) - nowMs)}` : ''}: ${message}`;
}

/** `12 of 40 stored, 1 failed, 20 under way`. */
export function batchLine({ items, succeeded, failed, running, stopping, cost }: BatchProgress): string {
  return listed([
    `${succeeded} of ${items ?? '?'} stored`,
    failed > 0 && `${failed} failed`,
    running.length > 0 && `${running.length} under way`,
    cost && `cost ${describeBatchCost(cost)}`,
    stopping && `no new items start: ${shown(stopping)}`,
  ]);
}

/** The line that is drawn again and again. */
export function liveLine(row: JobRow, nowMs: number): string {
  const { progress, startedAt } = row;
  const percent = progress && percentOf(progress);
  const parts = [
    ...(percent === undefined ? [] : [bar(percent)]),
    ageText(nowMs - Date.parse(startedAt)),
    rowLine(row, nowMs),
  ];
  return oneLine(parts.join('  '));
}

function bar(percent: number): string {
  const full = Math.round((Math.min(percent, 100) / 100) * BAR_CELLS);
  return '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
}

/** That of a batch is not 100 before all items have ended; that of a task is shown until the download begins. */
function percentOf(progress: Progress): number | undefined {
  if (isBatch(progress)) {
    const { items = 0, succeeded, failed } = progress;
    return items === 0 ? 0 : Math.floor((100 * (succeeded + failed)) / items);
  }
  const { phase, task } = progress;
  return phase === 'downloading' || task?.percent === undefined ? undefined : Math.round(task.percent);
}

/** The table of `list`. */
export function jobTable(rows: readonly JobOverview[], nowMs = Date.now()): string[] {
  const columns: Column<JobOverview>[] = [
    { title: 'NAME', text: ({ workflowId }) => shown(workflowId) },
    { title: 'STATE', text: ({ state }) => state },
    { title: 'AGE', text: ({ startedAt }) => ageText(nowMs - Date.parse(startedAt)) },
    { title: 'PHASE', text: phaseText },
    { title: 'TASK', text: ({ taskId = '' }) => shown(taskId) },
    { title: 'COST', text: costText },
    { title: 'SERVICE', text: ({ service = '' }) => shown(service) },
  ];
  return tableLines(columns, rows);
}

/** What a running job does, or how the others ended. */
export function phaseText({ kind, state, failure, counts, ...row }: JobOverview): string {
  if (counts) return batchLine({ ...counts, running: [] });
  if (state === 'failed') return failure ?? 'not known';
  if (kind === 'batch') return 'batch';
  if (row.endedAt !== undefined) return '';
  const { phase, retrying, isCancelling, paused } = row;
  return listed([paused && 'paused', isCancelling ? 'cancelling' : phase, retrying && retryText(retrying)]);
}

/** What was charged, or else the estimate, and what lost submits may have cost. */
function costText({ cost }: JobOverview): string {
  const sum = sumOf(chargesOf(cost));
  return sum.sums.length > 0 ? describeSum(sum) : '';
}

/** What to do about lost submits of a job, or of the items of a batch. The key tells two holds of a job apart. */
export function holdNotes({ workflowId, progress }: JobRow): Map<string, string> {
  const notes = new Map<string, string>();
  if (progress && isBatch(progress)) {
    for (const { item, name, isHeld } of progress.running)
      if (isHeld) notes.set(name, holdNote(name, `Item ${item} lost its submit: a paid task may exist.`));
  } else if (progress?.hold) {
    const { since, until, message } = progress.hold;
    notes.set(since, holdNote(workflowId, message, ` before ${until}; after that the job fails`));
  }
  return notes;
}

function holdNote(name: string, message: string, before = ''): string {
  const commands = decisionCommands(name).map(({ when, command }) => `  ${command}   # ${when}`);
  return [message, `Look for the task at the service and decide${before}:`, ...commands].join('\n');
}

/** The lines about a stored video. */
export function storedLines(
  { video, taskId, polls, warnings, cost }: JobResult,
  copiedTo?: string,
): string[] {
  const times = polls === 1 ? 'one poll' : `${polls} polls`;
  return [
    `Stored ${describeVideo(video)}, of task ${shown(taskId)} after ${times}.`,
    `It is at ${video.uri}${copiedTo === undefined ? '' : `, copied to ${copiedTo}`}.`,
    ...(cost ? [`Cost: ${describeCost(cost)}.`] : []),
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}

/** A time without flicker and fractions: `45 s`, `12 min`, `3 h`, `5 d`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const listed = (parts: readonly (string | number | false | undefined)[]) => parts.filter(Boolean).join(', ');
