import type { JobOverview, OverviewState } from '../client/overview';
import type { BatchProgress } from '../contract/batch';
import { shown } from '../contract/clean-text';
import type { JobProgress } from '../contract/job';
import { chargesOf } from '../contract/job-cost';
import { describeSum, sumOf } from '../contract/money';
import { batchLine } from './batch-lines';
import { percentOf } from './progress-line';
import type { Column } from './table';
import type { Colour } from './terminal';

/** A job or a batch in a table. */
export interface JobRow extends JobOverview {
  /** What a worker answered, if one was asked. */
  progress?: JobProgress;
  batch?: BatchProgress;
}

const COLOURS: Record<OverviewState, Colour | undefined> = {
  running: 'cyan',
  'needs-decision': 'yellow',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'dim',
};

const LEAST_PHASE_COLUMNS = 10;

export function jobColumns(nowMs: number): Column<JobRow>[] {
  return [
    { title: 'NAME', text: ({ workflowId }) => shown(workflowId), leastWidth: 12, canShrink: true, rank: 0 },
    {
      title: 'STATE',
      text: ({ state }) => state,
      colour: ({ state }) => COLOURS[state],
      leastWidth: 0,
      rank: 1,
    },
    { title: 'AGE', text: ({ startedAt }) => ageText(nowMs - Date.parse(startedAt)), leastWidth: 0, rank: 2 },
    {
      title: 'PHASE',
      text: (row) => phaseText(row, nowMs),
      leastWidth: LEAST_PHASE_COLUMNS,
      canShrink: true,
      rank: 3,
    },
    { title: 'COST', text: costText, leastWidth: 0, rank: 5 },
    { title: 'SERVICE', text: ({ service = '' }) => shown(service), leastWidth: 8, canShrink: true, rank: 6 },
    { title: 'TASK', text: ({ taskId = '' }) => shown(taskId), leastWidth: 8, canShrink: true, rank: 4 },
  ];
}

/** What a running job is doing, or how the others ended. */
export function phaseText(row: JobRow, nowMs: number): string {
  if (row.kind === 'batch') return batchText(row);
  if (row.state === 'failed') return row.failure ?? 'not known';
  if (row.endedAt !== undefined) return '';
  const { progress, retrying, isCancelling } = row;
  const phase = progress?.phase ?? row.phase ?? '';
  const percent = progress && percentOf(progress);
  const nextPoll = progress?.nextPollAt && Date.parse(progress.nextPollAt) - nowMs;
  return [
    isCancelling ? 'cancelling' : phase,
    percent !== undefined && `${Math.round(percent)} %`,
    retrying && `attempt ${retrying.attempt}: ${retrying.message}`,
    progress?.problem && `problem: ${progress.problem.type}`,
    nextPoll && nextPoll > 0 && `next poll in ${ageText(nextPoll)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** What was charged, or else the estimate, and what lost submits may have cost. */
function costText({ cost, progress }: JobRow): string {
  const sum = sumOf(chargesOf(progress?.cost ?? cost));
  return sum.sums.length > 0 ? describeSum(sum) : '';
}

function batchText({ batch, counts, state, failure }: JobRow): string {
  if (counts) return batchLine({ ...counts, running: [] });
  if (batch) return batchLine(batch);
  return state === 'failed' && failure ? `batch: ${failure}` : 'batch';
}

/** A time without flicker and fractions: `45 s`, `12 min`, `3 h`, `5 d`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
