import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  getExternalWorkflowHandle,
  proxyActivities,
  proxyLocalActivities,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobRoute, SentWebhook, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import type { ChildNews } from '../src/contract/job';
import { CHILD_NEWS_SIGNAL, MADE_FOR_MEMO, WEBHOOK_WORKFLOW_TYPE, webhookId } from '../src/contract/names';
import { ASK_WORKER_POLICY, WEBHOOK_AT_MOST_MS, WEBHOOK_POLICY } from '../src/contract/policies';
import { describeWebhook } from '../src/contract/summaries';
import type { WebhookDelivery } from '../src/contract/webhook';
import { logEvent } from './log-event';

/** Whether a batch or a fallback started this job. */
export function madeFor(): 'batch' | 'fallback' | undefined {
  const { parent, memo } = workflowInfo();
  const recorded = parent && memo?.[MADE_FOR_MEMO];
  return recorded === 'batch' || recorded === 'fallback' ? recorded : undefined;
}

/** Tells the batch or the fallback that started this job; a job alone tells nobody. A batch is told of holds only. */
export function tellParent(news: Omit<ChildNews, 'name'>): void {
  const { parent, workflowId: name } = workflowInfo();
  const kind = madeFor();
  if (parent === undefined || kind === undefined || (kind === 'batch' && news.hold === undefined)) return;
  // Without the run: it may have continued as new. One that has ended needs no news.
  void CancellationScope.nonCancellable(() =>
    getExternalWorkflowHandle(parent.workflowId).signal(CHILD_NEWS_SIGNAL, { name, ...news }),
  ).catch(() => undefined);
}

/** What a webhook reports, of this workflow. `count`: how often such an event has come up. */
type ReportedEvent = Omit<WebhookDelivery, 'id' | 'job' | 'timestamp'> & { count?: number };

/**
 * Has the receiver of a job called, if it has one, by a workflow that outlives the job. It never throws: a webhook changes
 * nothing about the job. How a part of another job ends, that one reports. `route`: what a worker has said about the job; one is
 * asked when none has.
 */
export async function notifyReceiver(
  { count = 1, ...reported }: ReportedEvent,
  route?: JobRoute,
): Promise<void> {
  const { event, url } = reported;
  if (madeFor() && event !== 'video.needs_decision') return;
  await CancellationScope.nonCancellable(async () => {
    const { hasReceiver = false } =
      url === undefined ? (route ?? (await askForRoute())) : { hasReceiver: true };
    if (!hasReceiver) return;
    const { workflowId: job, firstExecutionRunId } = workflowInfo();
    const id = webhookId(firstExecutionRunId, event, count);
    await start({ id, job, ...reported, timestamp: new Date().toISOString() });
  });
}

function askForRoute(): Promise<JobRoute> {
  const { routeJob } = proxyLocalActivities<VideoActivities>({
    ...ASK_WORKER_POLICY,
    summary: 'the default receiver of webhooks',
  });
  // A worker that ends may not answer. Then the delivery finds out.
  return routeJob({}).catch(() => ({ hasReceiver: true }));
}

async function start(delivery: WebhookDelivery): Promise<void> {
  const { id: workflowId, event } = delivery;
  try {
    // Awaited: a job that closes first would take the start of the workflow with it.
    await startChild(WEBHOOK_WORKFLOW_TYPE, {
      workflowId,
      args: [delivery],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowExecutionTimeout: WEBHOOK_AT_MOST_MS,
      staticSummary: describeWebhook(delivery),
    });
  } catch (error) {
    // A run before a reset has started it.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError))
      logEvent('webhookNotStarted', { webhook: event, error: cleanText(String(error)) });
  }
}

/**
 * Delivers one webhook of a job, for as many days as it takes. It is a workflow of its own, so that no job waits for a
 * receiver. Jobs start it themselves.
 *
 * @example
 * ```ts
 * const { status } = await client.workflow.getHandle('webhook_…').result();
 * ```
 */
export async function deliverWebhook(delivery: WebhookDelivery): Promise<SentWebhook> {
  const { sendWebhook } = proxyActivities<VideoActivities>({ ...WEBHOOK_POLICY, summary: delivery.event });
  return sendWebhook(delivery);
}
