import { shown } from '../contract/clean-text';
import { describeDuration } from '../contract/duration';
import type { JobProgress } from '../contract/job';
import { describeCost } from '../contract/job-cost';
import { cutToWidth, widthOf } from './display-width';

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

/** The progress of a job in one line that fits the screen. The most important parts come first. */
export function progressLine(progress: JobProgress, nowMs: number, columns: number): string {
  const { phase, task, taskId, problem, nextPollAt, startedAt, cost } = progress;
  const percent = percentOf(progress);
  const parts = [
    PHASES[phase].padEnd(11),
    percent === undefined ? undefined : `${bar(percent)} ${String(Math.round(percent)).padStart(3)} %`,
    wholeSeconds(nowMs - Date.parse(startedAt)),
    problem && `problem: ${problem.type}`,
    task && task.word !== '' && task.word !== phase ? shown(task.word) : undefined,
    nextPollAt && `next poll in ${wholeSeconds(Date.parse(nextPollAt) - nowMs)}`,
    cost && describeCost(cost),
    taskId && shown(taskId),
  ];
  return cutToFit(
    parts.filter((part) => part !== undefined),
    columns,
  );
}

/** The same for a pipe, without parts that change every second, so that equal lines are printed once. */
export function plainLine(progress: JobProgress): string {
  const { phase, task, taskId, problem, cost } = progress;
  const done = percentOf(progress);
  const percent = done === undefined ? '' : ` ${Math.round(done)} %`;
  const parts = [
    `${PHASES[phase]}${percent}`,
    cost && `cost ${describeCost(cost)}`,
    taskId && `task ${shown(taskId)}`,
    task && `the service says ${shown(task.word || task.state)}`,
    problem && `problem, ${problem.count} in a row: ${shown(problem.message)}`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** The task's percentage while the job waits. */
export function percentOf({ phase, task }: JobProgress): number | undefined {
  return phase === 'downloading' ? undefined : task?.percent;
}

/** Milliseconds would flicker. */
function wholeSeconds(ms: number): string {
  return ms < 1_000 ? '0 s' : describeDuration(ms);
}

export function bar(percent: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * BAR_CELLS);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`;
}

/** As many whole parts as fit. Only the first one may be cut. */
function cutToFit(parts: string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line}  ${part}`;
    if (widthOf(longer) > columns) break;
    line = longer;
  }
  return line === '' ? cutToWidth(parts[0] ?? '', columns, '') : line;
}
