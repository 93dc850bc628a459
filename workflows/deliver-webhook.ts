import { proxyActivities } from '@temporalio/workflow';
import type { SentWebhook, VideoActivities } from '../activities';
import { WEBHOOK_POLICY } from '../src/contract/policies';
import type { WebhookDelivery } from '../src/contract/webhook';

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
