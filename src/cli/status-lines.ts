import {
  type BatchProgress,
  type BatchResult,
  describeFailure,
  describeVideo,
  type ItemResult,
  type JobOverview,
  type JobProgress,
  type JobResult,
  shown,
} from '../contract';
import { hasExpired } from '../contract/expiry';
import { describeBatchCost, describeCost } from '../contract/job-cost';
import { batchLine } from './batch-lines';
import type { errorObject } from './exit-codes';
import { ageText } from './job-rows';
import { plainLine } from './progress-line';
import { extraLines } from './stored-lines';
import { wrapText } from './wrap-text';

/** What `status` prints. An item has the overview of its batch. */
export interface StatusReport extends JobOverview {
  item?: number;
  /** The request in one line. */
  summary?: string;
  progress?: JobProgress | BatchProgress;
  result?: JobResult | BatchResult;
  /** The line of an item in the results of its batch. */
  itemResult?: ItemResult;
  error?: ReturnType<typeof errorObject>['error'];
  /** Why something is not known. */
  note?: string;
  /** What can be done now. */
  commands: string[];
}

const LABEL_COLUMNS = 10;

/** The report for people, in lines that fit the screen. */
export function reportLines(report: StatusReport, columns: number, nowMs: number): string[] {
  const fields: [label: string, value: string | undefined | false][] = [
    [report.item !== undefined ? 'item' : report.kind, headOf(report)],
    ['request', report.summary],
    ['state', report.item === undefined && stateText(report)],
    ['phase', progressText(report)],
    ['task', report.taskId && report.item === undefined && shown(report.taskId)],
    ['service', serviceOf(report)],
    ...refusalsOf(report).map((text): [string, string] => ['refused', text]),
    ['video', videoOf(report)],
    ['extras', extraLines(storedOf(report)?.extras).join('; ')],
    ['cost', costOf(report)],
    ['expires', expiryOf(report, nowMs)],
    ['results', report.result && 'results' in report.result && report.result.results.uri],
    [
      'retry',
      report.retrying &&
        `attempt ${report.retrying.attempt} of ${report.retrying.activity}: ${report.retrying.message}`,
    ],
    ['problem', problemOf(report)],
    ['decide by', holdEndOf(report, nowMs)],
    ['started', `${report.startedAt}, ${ageText(nowMs - Date.parse(report.startedAt))} ago`],
    [
      'ended',
      report.endedAt &&
        `${report.endedAt}, after ${ageText(Date.parse(report.endedAt) - Date.parse(report.startedAt))}`,
    ],
    ['queue', shown(report.taskQueue)],
    ['parent', report.parentId && shown(report.parentId)],
    ['retry of', report.retryOf && shown(report.retryOf)],
    ['note', report.note],
    ['advice', report.error?.advice],
  ];
  const lines = fields.flatMap(([label, value]) => (value ? labelled(label, value, columns) : []));
  // A command must stay whole, so that it can be copied.
  return [...lines, ...report.commands.map((command) => `  ${command}`)];
}

function labelled(label: string, value: string, columns: number): string[] {
  const width = Math.max(10, columns - LABEL_COLUMNS);
  return wrapText(value, width).map(
    (line, index) => `${(index === 0 ? label : '').padEnd(LABEL_COLUMNS)}${line}`,
  );
}

function headOf({ workflowId, item }: StatusReport): string {
  return item === undefined ? shown(workflowId) : `${item} of the batch ${shown(workflowId)}`;
}

function stateText({ state, failure, isCancelling }: StatusReport): string {
  const why = state === 'failed' ? failure : undefined;
  const more = why ?? (isCancelling ? 'cancellation requested' : undefined);
  return more === undefined ? state : `${state}: ${more}`;
}

function progressText(report: StatusReport): string | undefined {
  const { progress, phase, endedAt, kind } = report;
  if (progress && 'running' in progress) return batchLine(progress);
  if (progress) return plainLine(progress);
  if (report.counts) return batchLine({ ...report.counts, running: [] });
  return endedAt === undefined && kind === 'job' ? phase : undefined;
}

function serviceOf({ item, progress, result, service }: StatusReport): string | undefined {
  const known = progress && 'service' in progress ? progress.service : undefined;
  const made = result && 'video' in result ? result.service : undefined;
  const name = item === undefined ? (known ?? made ?? service) : service;
  return name === undefined ? undefined : shown(name);
}

/** Those of a job's `services` that made no task, each with its reason. */
function refusalsOf({ progress, result, itemResult }: StatusReport): string[] {
  const ofJob = [itemResult, result, progress].find(
    (known): known is JobResult | JobProgress => known !== undefined && 'attempts' in known,
  );
  return (ofJob?.attempts ?? []).flatMap((attempt) =>
    attempt.outcome === 'refused' ? [`${shown(attempt.service)}: ${shown(attempt.message)}`] : [],
  );
}

function videoOf(report: StatusReport): string | undefined {
  const stored = storedOf(report);
  return stored && `${stored.video.uri} (${describeVideo(stored.video)})`;
}

function storedOf({ result, itemResult }: StatusReport): Pick<JobResult, 'video' | 'extras'> | undefined {
  const stored = itemResult?.outcome === 'succeeded' ? itemResult : result;
  return stored && 'video' in stored ? stored : undefined;
}

function expiryOf(report: StatusReport, nowMs: number): string | undefined {
  const { expiresAt } = storedOf(report)?.video ?? {};
  if (expiresAt === undefined) return undefined;
  return hasExpired({ expiresAt }, nowMs)
    ? `${expiresAt}: it has expired`
    : `${expiresAt}, in ${ageText(Date.parse(expiresAt) - nowMs)}`;
}

/** Of an item its own; of a batch the sum. */
function costOf({ item, itemResult, progress, result, cost }: StatusReport): string | undefined {
  if (itemResult?.cost) return describeCost(itemResult.cost);
  if (progress && 'running' in progress) return undefined;
  if (progress?.cost) return describeCost(progress.cost);
  if (item !== undefined) return undefined;
  if (result && 'results' in result) return result.cost && describeBatchCost(result.cost);
  const known = result?.cost ?? cost;
  return known && describeCost(known);
}

/** After that the job fails. */
function holdEndOf({ progress }: StatusReport, nowMs: number): string | undefined {
  if (!progress || !('hold' in progress) || !progress.hold) return undefined;
  const { until } = progress.hold;
  return `${until}, in ${ageText(Math.max(0, Date.parse(until) - nowMs))}`;
}

function problemOf({ error, itemResult, progress }: StatusReport): string | undefined {
  if (itemResult?.outcome === 'failed') return describeFailure(itemResult.failure, itemResult.details);
  if (progress && 'hold' in progress && progress.hold) return progress.hold.message;
  return error?.message;
}
