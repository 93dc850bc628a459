import type { JobOverview } from '../client/overview';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { shown } from '../contract/clean-text';
import type { JobProgress, JobResult } from '../contract/job';
import { describeBatchCost, describeCost } from '../contract/job-cost';
import { describeVideo } from '../contract/summaries';
import { batchLine } from './batch-lines';
import type { errorObject } from './exit-codes';
import { ageText } from './job-rows';
import { plainLine } from './progress-line';
import { wrapText } from './wrap-text';

/** What `status` prints. */
export interface StatusReport extends JobOverview {
  /** The request in one line. */
  summary?: string;
  progress?: JobProgress | BatchProgress;
  result?: JobResult | BatchResult;
  error?: ReturnType<typeof errorObject>['error'];
  /** Why something is not known. */
  note?: string;
  /** Its page in the Temporal UI, if the address of the UI is known. */
  uiUrl?: string;
  /** What can be done now. */
  commands: string[];
}

const LABEL_COLUMNS = 10;

/** The report for people, in lines that fit the screen. */
export function reportLines(report: StatusReport, columns: number, nowMs: number): string[] {
  const fields: [label: string, value: string | undefined | false][] = [
    [report.kind, shown(report.workflowId)],
    ['request', report.summary],
    ['state', stateText(report)],
    ['phase', progressText(report)],
    ['task', report.taskId && shown(report.taskId)],
    ['service', serviceOf(report)],
    ...refusalsOf(report).map((text): [string, string] => ['refused', text]),
    ['video', videoOf(report)],
    ['cost', costOf(report)],
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
    [report.madeFor === 'batch' ? 'batch' : 'parent', report.parentId && shown(report.parentId)],
    ['ui', report.uiUrl],
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

function serviceOf({ progress, result, service }: StatusReport): string | undefined {
  const known = progress && 'service' in progress ? progress.service : undefined;
  const made = result && 'video' in result ? result.service : undefined;
  const name = known ?? made ?? service;
  return name === undefined ? undefined : shown(name);
}

/** Those of a job's `services` that made no task, each with its reason. */
function refusalsOf({ progress, result }: StatusReport): string[] {
  const ofJob = [result, progress].find(
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

function storedOf({ result }: StatusReport): Pick<JobResult, 'video'> | undefined {
  return result && 'video' in result ? result : undefined;
}

/** Of a batch the sum. */
function costOf({ progress, result, cost }: StatusReport): string | undefined {
  if (progress && 'running' in progress) return undefined;
  if (progress?.cost) return describeCost(progress.cost);
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

function problemOf({ error, progress }: StatusReport): string | undefined {
  if (progress && 'hold' in progress && progress.hold) return progress.hold.message;
  return error?.message;
}
