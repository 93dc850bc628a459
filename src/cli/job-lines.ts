import type { JobOverview, OverviewState } from '../client/overview';
import type { BatchProgress } from '../contract/batch';
import { printable, shown } from '../contract/clean-text';
import type { JobProgress, JobResult } from '../contract/job';
import { chargesOf, describeBatchCost, describeCost } from '../contract/job-cost';
import { decisionCommands } from '../contract/lost-submit';
import { describeSum, sumOf } from '../contract/money';
import { describeVideo } from '../contract/summaries';
import type { Screen } from './terminal';
import { type Colour, type Column, cutToWidth, tableLines, widthOf } from './text-table';

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

const BAR_CELLS = 20;

export function isBatch(progress: Progress): progress is BatchProgress {
  return 'running' in progress;
}

/** The progress in one line, without parts that change every second: a pipe gets each line once. */
export function progressLine(progress: Progress): string {
  if (isBatch(progress)) return batchLine(progress);
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

/** What is drawn again and again: the bars of one job or batch, or a table of several, as far as they fit the screen. */
export function liveLines(rows: readonly JobRow[], screen: Screen, nowMs: number): string[] {
  const [first, ...others] = rows;
  // The last row is for the cursor.
  const most = Math.max(1, screen.rows - 1);
  const lines =
    first?.progress && others.length === 0
      ? barsOf(first.progress, screen.columns, nowMs).map(printable)
      : // Those that run come first.
        jobTable(
          [...rows].sort((a, b) => Number(a.endedAt !== undefined) - Number(b.endedAt !== undefined)),
          screen,
          nowMs,
        );
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), cutToWidth(`and ${lines.length - most + 1} more`, screen.columns)];
}

/** One line for a job; for a batch also one for each running item. */
function barsOf(progress: Progress, columns: number, nowMs: number): string[] {
  if (!isBatch(progress)) return [jobBar(progress, columns, nowMs)];
  const { items = 0, succeeded, failed, running } = progress;
  const percent = items === 0 ? 0 : (100 * (succeeded + failed)) / items;
  const width = String(items).length;
  return [
    // Not 100 % before all items have ended.
    cutToWidth(`${bar(Math.floor(percent))}  ${batchLine(progress)}`, columns),
    ...running.map(({ item, isHeld, progress: own }) => {
      const number = `${String(item).padStart(width)}  `;
      if (own) return number + jobBar(own, columns - number.length, nowMs);
      return cutToWidth(number + (isHeld ? PHASES['needs-decision'] : 'under way'), columns);
    }),
  ];
}

/** The most important parts come first: those that do not fit are left out. */
function jobBar(progress: JobProgress, columns: number, nowMs: number): string {
  const { phase, task, taskId, problem, nextPollAt, startedAt, cost } = progress;
  const percent = percentOf(progress);
  const parts = [
    percent === undefined ? undefined : bar(Math.round(percent)),
    ageText(nowMs - Date.parse(startedAt)),
    problem && `problem: ${problem.type}`,
    task && task.word !== '' && task.word !== phase ? shown(task.word) : undefined,
    nextPollAt && `next poll in ${ageText(Date.parse(nextPollAt) - nowMs)}`,
    cost && describeCost(cost),
    taskId && shown(taskId),
  ].filter((part) => part !== undefined);
  let line = cutToWidth(PHASES[phase].padEnd(11), columns);
  for (const part of parts) {
    if (widthOf(`${line}  ${part}`) > columns) break;
    line = `${line}  ${part}`;
  }
  return line;
}

function bar(percent: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * BAR_CELLS);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)} ${String(percent).padStart(3)} %`;
}

/** The task's percentage, until the download begins. */
function percentOf({ phase, task }: JobProgress): number | undefined {
  return phase === 'downloading' ? undefined : task?.percent;
}

const COLOURS: Record<OverviewState, Colour | undefined> = {
  running: 'cyan',
  'needs-decision': 'yellow',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'dim',
};

/** The table of `list`, and of `watch` for several jobs. */
export function jobTable(
  rows: readonly JobRow[],
  screen: Omit<Screen, 'rows'>,
  nowMs = Date.now(),
): string[] {
  const columns: Column<JobRow>[] = [
    { title: 'NAME', text: ({ workflowId }) => shown(workflowId), leastWidth: 12 },
    { title: 'STATE', text: ({ state }) => state, colour: ({ state }) => COLOURS[state] },
    { title: 'AGE', text: ({ startedAt }) => ageText(nowMs - Date.parse(startedAt)) },
    { title: 'PHASE', text: phaseText, leastWidth: 10 },
    { title: 'TASK', text: ({ taskId = '' }) => shown(taskId), leastWidth: 8 },
    { title: 'COST', text: costText },
    { title: 'SERVICE', text: ({ service = '' }) => shown(service), leastWidth: 8 },
  ];
  return tableLines(columns, rows, screen);
}

/** What a running job does, or how the others ended. */
export function phaseText({ kind, state, failure, counts, progress, ...row }: JobRow): string {
  if (progress && isBatch(progress)) return batchLine(progress);
  if (counts) return batchLine({ ...counts, running: [] });
  if (state === 'failed') return failure ?? 'not known';
  if (kind === 'batch' || row.endedAt !== undefined) return kind === 'batch' ? 'batch' : '';
  const { retrying, isCancelling } = row;
  const percent = progress && percentOf(progress);
  return listed([
    isCancelling ? 'cancelling' : (progress?.phase ?? row.phase),
    percent !== undefined && `${Math.round(percent)} %`,
    retrying && `attempt ${retrying.attempt}: ${retrying.message}`,
    progress?.problem && `problem: ${progress.problem.type}`,
  ]);
}

/** What was charged, or else the estimate, and what lost submits may have cost. */
function costText({ cost, progress }: JobRow): string {
  const known = progress && !isBatch(progress) ? progress.cost : undefined;
  const sum = sumOf(chargesOf(known ?? cost));
  return sum.sums.length > 0 ? describeSum(sum) : '';
}

/** What to do about lost submits of a job, or of the items of a batch. The key tells two holds of a job apart. */
export function holdNotes({ workflowId, progress }: JobRow): Map<string, string> {
  if (progress === undefined) return new Map();
  const held = isBatch(progress)
    ? progress.running.flatMap(({ item, name, isHeld, progress: own }) =>
        isHeld || own?.hold ? { name, hold: own?.hold, subject: `Item ${item}: ` } : [],
      )
    : progress.hold
      ? [{ name: workflowId, hold: progress.hold, subject: '' }]
      : [];
  return new Map(
    held.map(({ name, hold, subject }) => {
      const before = hold ? ` before ${hold.until}; after that the job fails` : '';
      const lines = [
        `${subject}${hold?.message ?? 'needs a decision.'}`,
        `Look for the task at the service and decide${before}:`,
        ...decisionCommands(name).map(({ when, command }) => `  ${command}   # ${when}`),
      ];
      return [`${name} ${hold?.since}`, lines.join('\n')];
    }),
  );
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
