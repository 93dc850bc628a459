import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, CancellationScope, startChild, workflowInfo } from '@temporalio/workflow';
import { cleanText } from '../src/contract/clean-text';
import { extraNamesIn } from '../src/contract/extras';
import { WEBHOOK_WORKFLOW_TYPE } from '../src/contract/names';
import { WEBHOOK_AT_MOST_MS } from '../src/contract/policies';
import { describeWebhook } from '../src/contract/summaries';
import { type WebhookDelivery, type WebhookEvent, webhookId } from '../src/contract/webhook';
import type { Job } from './job';
import { logJob } from './log-event';

/**
 * Has the receiver of a job called, if it has one, by a workflow that outlives the job. It never throws: a webhook changes
 * nothing about the job. Items of a batch send none.
 */
export async function notifyReceiver(job: Job, event: WebhookEvent): Promise<void> {
  if (!job.hasReceiver) return;
  const delivery = deliveryOf(job, event);
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
      logJob(job, 'webhookNotStarted', { webhook: event, error: cleanText(String(error)) });
      return;
    }
  }
  job.recordWebhook({ event, workflowId: delivery.id });
}

function deliveryOf(
  { host, hold, taskId, failure, cost, turns, options, extras }: Job,
  event: WebhookEvent,
): WebhookDelivery {
  // Only a hold can begin more than once.
  const count = event === 'video.needs_decision' ? hold.count : 1;
  return {
    id: webhookId(host.name, workflowInfo().firstExecutionRunId, event, count),
    url: options.callbackUrl ?? undefined,
    event,
    job: host.name,
    taskId,
    failure: failure?.type,
    ...(cost && { cost }),
    ...(extras && { extras: extraNamesIn(extras) }),
    ...(turns && { attempts: turns.attempts }),
    timestamp: new Date().toISOString(),
  };
}

/** Whether the failure of an activity says that its worker has a default receiver: see activities/say-receiver.ts. */
export function namesReceiver(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof ApplicationFailure)) continue;
    return (cause.details ?? []).slice(1).some((detail) => Object(detail).hasReceiver === true);
  }
  return false;
}
