import type { JobOverview } from '../client/overview';
import type { BatchProgress } from '../contract/batch';
import { shown } from '../contract/clean-text';
import { describeDuration } from '../contract/duration';
import type { JobProgress, JobResult } from '../contract/job';
import { describeBatchCost, describeCost } from '../contract/job-cost';
import { decisionCommands } from '../contract/lost-submit';
import { describeVideo } from '../contract/summaries';
import { cutToWidth, widthOf } from './text-columns';

export type Progress = JobProgress | BatchProgress;

/** A job or a batch with what a worker answered, if one was asked. */
export interface JobRow extends JobOverview {
  progress?: JobProgress;
  batch?: BatchProgress;
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

const BAR_CELLS = 20;

export function isBatch(progress: Progress): progress is BatchProgress {
  return 'running' in progress;
}

/** The progress in one line for a pipe, without parts that change every second, so that equal lines are printed once. */
export function plainLine(progress: Progress): string {
  return isBatch(progress) ? batchLine(progress) : jobLine(progress);
}

/** The progress in lines that fit a screen: one for a job; for a batch also one for each running item, if they fit. */
export function screenLines(progress: Progress, nowMs: number, columns: number, rows: number): string[] {
  if (!isBatch(progress)) return [progressLine(progress, nowMs, columns)];
  const { items = 0, succeeded, failed, running } = progress;
  const percent = items === 0 ? 0 : (100 * (succeeded + failed)) / items;
  const itemRows = Math.max(1, rows - 2);
  const visible = running.length > itemRows ? running.slice(0, itemRows - 1) : running;
  const hidden = running.length - visible.length;
  const width = String(items).length;
  const lines = [
    // Not 100 % before all items have ended.
    `${bar(percent)} ${String(Math.floor(percent)).padStart(3)} %  ${batchLine(progress)}`,
    ...visible.map((item) => {
      const number = `${String(item.item).padStart(width)}  `;
      if (item.progress) return number + progressLine(item.progress, nowMs, columns - number.length);
      return number + (item.isHeld ? 'needs a decision' : 'under way');
    }),
    ...(hidden > 0 ? [`${' '.repeat(width)}  and ${hidden} more`] : []),
  ];
  return lines.map((line) => cutToWidth(line, columns, ''));
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

function jobLine(progress: JobProgress): string {
  const { phase, task, taskId, problem, cost } = progress;
  const percent = percentOf(progress);
  return listed([
    `${PHASES[phase]}${percent === undefined ? '' : ` ${Math.round(percent)} %`}`,
    cost && `cost ${describeCost(cost)}`,
    taskId && `task ${shown(taskId)}`,
    task && `the service says ${shown(task.word || task.state)}`,
    problem && `problem, ${problem.count} in a row: ${shown(problem.message)}`,
  ]);
}

/** The most important parts come first: those that do not fit are left out. */
function progressLine(progress: JobProgress, nowMs: number, columns: number): string {
  const { phase, task, taskId, problem, nextPollAt, startedAt, cost } = progress;
  const percent = percentOf(progress);
  const [first, ...parts] = [
    PHASES[phase].padEnd(11),
    percent === undefined ? undefined : `${bar(percent)} ${String(Math.round(percent)).padStart(3)} %`,
    wholeSeconds(nowMs - Date.parse(startedAt)),
    problem && `problem: ${problem.type}`,
    task && task.word !== '' && task.word !== phase ? shown(task.word) : undefined,
    nextPollAt && `next poll in ${wholeSeconds(Date.parse(nextPollAt) - nowMs)}`,
    cost && describeCost(cost),
    taskId && shown(taskId),
  ].filter((part) => part !== undefined);
  let line = cutToWidth(first ?? '', columns, '');
  for (const part of parts) {
    if (widthOf(`${line}  ${part}`) > columns) break;
    line = `${line}  ${part}`;
  }
  return line;
}

/** What a running job is doing, or how the others ended. */
export function phaseText(row: JobRow, nowMs: number): string {
  const { kind, state, failure, counts, batch, progress, retrying, isCancelling } = row;
  if (kind === 'batch') {
    if (counts) return batchLine({ ...counts, running: [] });
    if (batch) return batchLine(batch);
    return state === 'failed' && failure ? `batch: ${failure}` : 'batch';
  }
  if (state === 'failed') return failure ?? 'not known';
  if (row.endedAt !== undefined) return '';
  const percent = progress && percentOf(progress);
  const nextPoll = progress?.nextPollAt && Date.parse(progress.nextPollAt) - nowMs;
  return listed([
    isCancelling ? 'cancelling' : (progress?.phase ?? row.phase),
    percent !== undefined && `${Math.round(percent)} %`,
    retrying && `attempt ${retrying.attempt}: ${retrying.message}`,
    progress?.problem && `problem: ${progress.problem.type}`,
    nextPoll && nextPoll > 0 && `next poll in ${ageText(nextPoll)}`,
  ]);
}

/** A text to print once: `key` tells two holds of a job apart. */
export interface Note {
  key: string;
  text: string;
}

/** What to do about the lost submit of a job, or of the items of a batch. */
export function holdNotes(workflowId: string, progress: Progress | undefined): Note[] {
  if (progress === undefined) return [];
  if (!isBatch(progress)) return progress.hold ? [holdNote(workflowId, progress.hold, '')] : [];
  return progress.running.flatMap(({ item, name, isHeld, progress: own }) =>
    isHeld || own?.hold ? [holdNote(name, own?.hold, `Item ${item}: `)] : [],
  );
}

function holdNote(name: string, hold: JobProgress['hold'], subject: string): Note {
  const before = hold ? ` before ${hold.until}; after that the job fails` : '';
  const lines = [
    `${subject}${hold?.message ?? 'needs a decision.'}`,
    `Look for the task at the service and decide${before}:`,
    ...decisionCommands(name).map(({ when, command }) => `  ${command}   # ${when}`),
  ];
  return { key: `${name} ${hold?.since}`, text: lines.join('\n') };
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

/** The task's percentage, until the download begins. */
function percentOf({ phase, task }: JobProgress): number | undefined {
  return phase === 'downloading' ? undefined : task?.percent;
}

function wholeSeconds(ms: number): string {
  return ms < 1_000 ? '0 s' : describeDuration(ms);
}

function bar(percent: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * BAR_CELLS);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`;
}

const listed = (parts: readonly (string | number | false | undefined)[]) => parts.filter(Boolean).join(', ');
