import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, CancellationScope, startChild, workflowInfo } from '@temporalio/workflow';
import { cleanText } from '../src/contract/clean-text';
import type { JobProgress } from '../src/contract/job';
import { WEBHOOK_WORKFLOW_TYPE, webhookId } from '../src/contract/names';
import { WEBHOOK_AT_MOST_MS } from '../src/contract/policies';
import { describeWebhook } from '../src/contract/summaries';
import type { WebhookDelivery, WebhookEvent } from '../src/contract/webhook';
import type { Job } from './job';
import { logEvent } from './log-event';
import { madeFor } from './tell-parent';

/**
 * Has the receiver of a job called, if it has one, by a workflow that outlives the job. It never throws: a webhook changes
 * nothing about the job. A part of another job sends none of its own.
 */
export async function notifyReceiver(job: Job, event: WebhookEvent): Promise<void> {
  if (madeFor() || !job.hasReceiver) return;
  const webhook = await deliver(deliveryOf(job, event));
  if (webhook) job.recordWebhook(webhook);
}

/** What a webhook reports, of this workflow. `count`: how often such an event has come up. */
export type ReportedEvent = Omit<WebhookDelivery, 'id' | 'job' | 'timestamp'> & { count: number };

/** Starts the workflow that delivers a webhook. Undefined when it could not be started. */
export async function deliver({ count, ...reported }: ReportedEvent): Promise<JobProgress['webhook']> {
  const { workflowId: job, firstExecutionRunId } = workflowInfo();
  const { event } = reported;
  const id = webhookId(firstExecutionRunId, event, count);
  const delivery: WebhookDelivery = { id, job, ...reported, timestamp: new Date().toISOString() };
  try {
    // Awaited: a job that closes first would take the start of the workflow with it.
    await CancellationScope.nonCancellable(() =>
      startChild(WEBHOOK_WORKFLOW_TYPE, {
        workflowId: delivery.id,
        args: [delivery],
        parentClosePolicy: 'ABANDON',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowExecutionTimeout: WEBHOOK_AT_MOST_MS,
        staticSummary: describeWebhook(delivery),
      }),
    );
  } catch (error) {
    // A run before a reset has started it.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) {
      logEvent('webhookNotStarted', { webhook: event, error: cleanText(String(error)) });
      return undefined;
    }
  }
  return { event, workflowId: delivery.id };
}

function deliveryOf({ hold, taskId, failure, cost, input }: Job, event: WebhookEvent): ReportedEvent {
  // Only a hold can begin more than once.
  const count = event === 'video.needs_decision' ? hold.count : 1;
  return {
    count,
    url: input.callbackUrl ?? undefined,
    event,
    taskId,
    failure: failure?.type,
    ...(cost && { cost }),
  };
}

/** Whether the failure of an activity says that its worker has a default receiver: see activities/index.ts. */
export function namesReceiver(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof ApplicationFailure)) continue;
    return (cause.details ?? []).slice(1).some((detail) => Object(detail).hasReceiver === true);
  }
  return false;
}
