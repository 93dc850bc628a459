import { inTime } from '../client/job-overview';
import type { JobOverview } from '../client/overview';
import { mayRetryAsItIs } from '../client/retry-plan';
import type { BatchProgress, BatchResult } from '../contract/batch';
import { printableJson } from '../contract/clean-text';
import type { JobProgress, JobResult } from '../contract/job';
import { commandOn, decisionCommands } from '../contract/lost-submit';
import { whyNotDecrypted } from '../encryption/not-decrypted';
import { EXIT, errorObject } from './exit-codes';
import { findJob } from './find-job';
import { onJob } from './job-action';
import type { JobsSession } from './open-jobs';
import type { StatusOptions } from './options';
import { reportLines, type StatusReport } from './status-lines';
import type { Terminal } from './terminal';

/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 3_000;

/** `videogen status`: everything that is known about one job or batch. */
export function status(workflowId: string, options: StatusOptions, terminal: Terminal): Promise<number> {
  return onJob(workflowId, options, terminal, async (session) => {
    const report = await readReport(session, workflowId);
    const screen = options.json ? undefined : terminal.outScreen();
    if (screen === undefined) terminal.out(printableJson(report));
    else for (const line of reportLines(report, screen.columns, Date.now())) terminal.out(line);
    return EXIT.ok;
  });
}

async function readReport(session: JobsSession, workflowId: string): Promise<StatusReport> {
  const overview = await findJob(session, workflowId);
  const [summary, known] = await Promise.all([
    summaryOf(session, overview),
    overview.endedAt === undefined ? askWorker(session, overview) : readEnd(session, overview),
  ]);
  const { uiUrl, client } = session;
  const report = {
    ...overview,
    ...(summary && { summary }),
    ...(uiUrl && { uiUrl: workflowUrl(uiUrl, client.options.namespace, workflowId) }),
    ...known,
  };
  return { ...report, commands: commandsFor(report) };
}

/** Without a run, so that it leads to the last one. */
function workflowUrl(uiUrl: string, namespace: string, workflowId: string): string {
  const base = uiUrl.replace(/\/+$/, '');
  return `${base}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

/** The SDK decodes it; a codec that is not set here may have encoded it. */
async function summaryOf({ client }: JobsSession, { workflowId }: JobOverview): Promise<string | undefined> {
  const read = async () => (await client.workflow.getHandle(workflowId).describe()).staticSummary();
  return inTime(client, read).catch(() => undefined);
}

type Known = Pick<StatusReport, 'progress' | 'result' | 'error' | 'note'>;

async function askWorker(session: JobsSession, { workflowId, kind }: JobOverview): Promise<Known> {
  const { client, videos, describeMissingWorker } = session;
  const query = (): Promise<JobProgress | BatchProgress> =>
    (kind === 'batch' ? videos.batch(workflowId) : videos.handle(workflowId)).progress();
  try {
    return { progress: await inTime(client, query, QUERY_WITHIN_MS) };
  } catch (error) {
    if (session.signal.aborted) throw error;
    const unreadable = whyNotDecrypted(error);
    if (unreadable !== undefined) return { note: unreadable };
    const missing = await describeMissingWorker(workflowId).catch(() => undefined);
    return { note: `No worker answers, so this is what Temporal knows. ${missing ?? ''}`.trim() };
  }
}

async function readEnd({ client, videos }: JobsSession, overview: JobOverview): Promise<Known> {
  const { workflowId, kind } = overview;
  const read = () =>
    kind === 'batch' ? videos.batch(workflowId).result() : videos.handle(workflowId).result();
  try {
    return { result: await inTime<JobResult | BatchResult>(client, read) };
  } catch (error) {
    return errorObject(error);
  }
}

function commandsFor(report: JobOverview & Known): string[] {
  const { workflowId, kind, state, failure, taskId, progress } = report;
  switch (state) {
    case 'running':
      return [commandOn('watch', workflowId), commandOn('cancel', workflowId), ...heldItems(progress)];
    case 'needs-decision':
      return decisionCommands(workflowId).map(({ command }) => command);
    case 'succeeded':
      return kind === 'batch' ? [] : [commandOn('download', workflowId)];
    case 'failed':
    case 'cancelled':
      return kind === 'batch' || mayRetryAsItIs(failure, taskId) ? [commandOn('retry', workflowId)] : [];
  }
}

/** Those of one, which shows how the others are named. */
function heldItems(progress: StatusReport['progress']): string[] {
  const held = (progress && 'running' in progress ? progress.running : []).filter(({ isHeld }) => isHeld);
  return held.slice(0, 1).flatMap(({ name }) => decisionCommands(name).map(({ command }) => command));
}
