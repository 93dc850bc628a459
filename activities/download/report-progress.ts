import { activityInfo, Context } from '@temporalio/activity';
import { cleanText } from '../../src/contract/clean-text';
import type { ReportedDownload } from '../../src/contract/job';
import { DOWNLOAD_PROGRESS_SIGNAL } from '../../src/contract/names';
import { DOWNLOAD_PROGRESS_EVERY_MS } from '../../src/contract/policies';
import { logEvent } from '../log-event';

/** Signals the progress to the workflow from time to time: a workflow cannot read the heartbeats of its activities. */
export async function whileReportingProgress<T>(
  current: () => ReportedDownload,
  work: () => Promise<T>,
): Promise<T> {
  const context = Context.current();
  let reportedBytes = -1;
  const report = async () => {
    const progress = current();
    const { workflowExecution } = activityInfo();
    if (workflowExecution === undefined || progress.bytes === reportedBytes) return;
    reportedBytes = progress.bytes;
    const { workflowId, runId } = workflowExecution;
    await context.client.workflow.getHandle(workflowId, runId).signal(DOWNLOAD_PROGRESS_SIGNAL, progress);
  };
  const timer = setInterval(() => {
    // The download continues without the report.
    report().catch((error: unknown) => logEvent('progressNotReported', { error: cleanText(String(error)) }));
  }, DOWNLOAD_PROGRESS_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
