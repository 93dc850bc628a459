import type { JobOverview } from '../client/overview';
import { nextCommands } from '../client/retry-job';
import { askWorker, inTime } from '../client/temporal-calls';
import type { BatchResult } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import type { JobResult } from '../contract/job';
import { describeBatchCost, describeCost } from '../contract/job-cost';
import { decisionCommands } from '../contract/lost-submit';
import { describeVideo } from '../contract/summaries';
import { whyNotDecrypted } from '../encryption/not-decrypted';
import { errorObject } from './exit-codes';
import { findJob } from './find-job';
import { ageText, isBatch, type JobRow, type Progress, progressLine } from './job-lines';
import { type JobsSession, onJob, pageOf } from './open-jobs';
import { EXIT, type Terminal } from './terminal';

const LABEL_COLUMNS = 10;

/** What `status` prints. */
export interface StatusReport extends JobRow {
  /** The request in one line. */
  summary?: string | undefined;
  result?: JobResult | BatchResult;
  error?: ReturnType<typeof errorObject>['error'];
  /** Why something is not known. */
  note?: string;
  /** Its page in the Temporal UI, if the address of the UI is known. */
  uiUrl?: string | undefined;
  /** What can be done now. */
  commands: string[];
}

/** `videogen status`: everything that is known about one job or batch. */
export function status(workflowId: string, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    const report = await readReport(session, workflowId);
    if (options.json || !terminal.isOutTerminal) terminal.out(printableJson(report));
    else terminal.out(reportLines(report, Date.now()).join('\n'));
    return EXIT.ok;
  });
}

export async function readReport(session: JobsSession, workflowId: string): Promise<StatusReport> {
  const { client, videos } = session;
  const overview = await findJob(session, workflowId);
  const job = overview.kind === 'batch' ? videos.batch(workflowId) : videos.handle(workflowId);
  const readSummary = async () => (await client.workflow.getHandle(workflowId).describe()).staticSummary();
  const readEnd = async (): Promise<Known> => {
    const result = inTime(client, (): Promise<JobResult | BatchResult> => job.result());
    return result.then((known) => ({ result: known }), errorObject);
  };
  const [summary, known] = await Promise.all([
    // The SDK decodes it; a codec that is not set here may have encoded it.
    inTime(client, readSummary).catch(() => undefined),
    overview.endedAt === undefined ? readProgress(session, job, overview) : readEnd(),
  ]);
  const report = { ...overview, summary, uiUrl: pageOf(session, workflowId), ...known };
  const { progress } = report;
  const held = progress && isBatch(progress) && progress.running.find(({ isHeld }) => isHeld);
  // The commands for one item show how the others are named.
  const forItem = held ? decisionCommands(held.name).map(({ command }) => command) : [];
  return { ...report, commands: [...nextCommands(report), ...forItem] };
}

type Known = Pick<StatusReport, 'progress' | 'result' | 'error' | 'note'>;

async function readProgress(
  { client, signal, describeMissingWorker }: JobsSession,
  job: { workflowId: string; progress(): Promise<Progress> },
  { paused }: JobOverview,
): Promise<Known> {
  if (paused) return { note: 'Nothing happens, and no worker answers, until it is unpaused.' };
  try {
    return { progress: await askWorker(client, () => job.progress()) };
  } catch (error) {
    if (signal.aborted) throw error;
    const unreadable = whyNotDecrypted(error);
    if (unreadable !== undefined) return { note: unreadable };
    const missing = await describeMissingWorker(job.workflowId).catch(() => undefined);
    return { note: `No worker answers, so this is what Temporal knows. ${missing ?? ''}`.trim() };
  }
}

/** The report for people. */
export function reportLines(report: StatusReport, nowMs: number): string[] {
  const { kind, state, failure, counts, progress, result, error, startedAt, endedAt } = report;
  const { paused, retrying } = report;
  const running = progress && !isBatch(progress) ? progress : undefined;
  const stored = result && 'video' in result ? result : undefined;
  const batch = result && 'results' in result ? result : undefined;
  const hold = running?.hold;
  const isCancelling = report.isCancelling && 'cancellation requested';
  const phase = progress ?? (counts && { ...counts, running: [] });
  const cost = running?.cost ?? stored?.cost ?? report.cost;
  const { refusedBy = [] } = stored ?? running ?? {};
  const ageAt = (time: string, from: string) => ageText(Date.parse(time) - Date.parse(from));
  const now = new Date(nowMs).toISOString();
  const fields: [label: string, value: string | undefined | false][] = [
    [kind, shown(report.workflowId)],
    ['request', report.summary],
    ['state', [state, state === 'failed' && failure, isCancelling].filter(Boolean).join(': ')],
    ['paused', paused && `since ${paused.since} by ${paused.by}: ${paused.reason}`],
    ['phase', phase ? progressLine(phase) : endedAt === undefined && report.phase],
    ['task', report.taskId && shown(report.taskId)],
    ['service', shown(running?.service ?? stored?.service ?? report.service ?? '')],
    ...refusedBy.map(({ service, message }): [string, string] => [
      'refused',
      `${shown(service)}: ${shown(message)}`,
    ]),
    ['video', stored && `${stored.video.uri} (${describeVideo(stored.video)})`],
    ['cost', batch?.cost ? describeBatchCost(batch.cost) : cost && describeCost(cost)],
    ['results', batch?.results.uri],
    ['retry', retrying && `attempt ${retrying.attempt} of ${retrying.activity}: ${retrying.message}`],
    ['problem', hold?.message ?? error?.message],
    ['decide by', hold && `${hold.until}, in ${ageAt(hold.until, now)}`],
    ['started', `${startedAt}, ${ageAt(now, startedAt)} ago`],
    ['ended', endedAt && `${endedAt}, after ${ageAt(endedAt, startedAt)}`],
    ['queue', shown(report.taskQueue)],
    [report.madeFor === 'batch' ? 'batch' : 'parent', report.parentId && shown(report.parentId)],
    ['ui', report.uiUrl],
    ['note', report.note],
    ['advice', error?.advice],
  ];
  const lines = fields.flatMap(([label, value]) => (value ? label.padEnd(LABEL_COLUMNS) + value : []));
  return [...lines, ...report.commands.map((command) => `  ${command}`)];
}
