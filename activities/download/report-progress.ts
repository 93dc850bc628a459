import { activityInfo, Context, log } from '@temporalio/activity';
import { cleanText } from '../../src/contract/clean-text';
import type { ReportedDownload } from '../../src/contract/job';
import { DOWNLOAD_PROGRESS_SIGNAL } from '../../src/contract/names';
import { DOWNLOAD_PROGRESS_EVERY_MS } from '../../src/contract/policies';

/** Tells the job now and then how far the work is: a workflow cannot see the heartbeats of its activities. */
export async function whileReportingProgress<T>(
  soFar: () => ReportedDownload,
  work: () => Promise<T>,
): Promise<T> {
  const context = Context.current();
  let told = -1;
  const tell = async () => {
    const progress = soFar();
    const { workflowExecution } = activityInfo();
    if (workflowExecution === undefined || progress.bytes === told) return;
    told = progress.bytes;
    const { workflowId, runId } = workflowExecution;
    await context.client.workflow.getHandle(workflowId, runId).signal(DOWNLOAD_PROGRESS_SIGNAL, progress);
  };
  const timer = setInterval(() => {
    // Nobody's video is worse for it.
    tell().catch((error: unknown) =>
      log.debug('could not tell the progress', { error: cleanText(String(error)) }),
    );
  }, DOWNLOAD_PROGRESS_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
