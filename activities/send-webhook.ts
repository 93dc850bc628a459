import { ApplicationFailure, activityInfo, cancellationSignal, metricMeter } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { JOB_FIELDS } from '../src/contract/input-rules';
import { count } from '../src/contract/metrics';
import { RETRY_AFTER_MAX_MS } from '../src/contract/policies';
import { type WebhookDelivery, webhookPayload } from '../src/contract/webhook';
import { ServiceFault, type WebhookSender } from '../src/service';
import { logEvent } from './attempt';

/** Result of the activity sendWebhook. */
export interface SentWebhook {
  /** The HTTP status of the receiver's answer. */
  status: number;
  attempt: number;
}

/** With it a receiver says that it wants nothing further. */
const GONE = 410;

/** Calls the receiver of a job once. Temporal retries, and the `webhook-id` stays the same. */
export function createSendWebhook(sender: WebhookSender | undefined) {
  return async function sendWebhook(delivery: WebhookDelivery): Promise<SentWebhook> {
    if (sender === undefined) {
      throw notDelivered(
        'the worker has no VIDEOGEN_WEBHOOK_SECRET to sign it with: set it, and the next attempt sends it',
      );
    }
    const url = delivery.url ?? sender.defaultUrl;
    if (url === undefined)
      throw notDelivered('the worker no longer has VIDEOGEN_WEBHOOK_URL', { isFinal: true });
    // Any program can start the workflow that calls this.
    const { accepts, sentence } = JOB_FIELDS.callbackUrl;
    if (!accepts(url)) throw notDelivered(`callbackUrl ${sentence}`, { isFinal: true });
    const body = JSON.stringify(webhookPayload(delivery));
    // Without path and query, which may contain a token.
    const { host } = new URL(url);
    const { status, retryAfterMs } = await sender
      .send({ url, id: delivery.id, body }, { signal: cancellationSignal() })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceFault)) throw error;
        const { kind, facts } = error;
        const reason = facts.message ?? facts.code ?? kind;
        // A forbidden address stays forbidden until the operator allows it.
        if (kind === 'not-allowed') throw notDelivered(reason, { isFinal: true });
        throw notDelivered(`${host} did not answer: ${reason}`);
      });
    if (status < 200 || status > 299) {
      // One could lead anywhere.
      const redirects = status > 299 && status < 400 ? ', and redirects are not followed' : '';
      throw notDelivered(`${host} answered ${status}${redirects}`, {
        isFinal: status === GONE,
        retryAfterMs,
      });
    }
    count(metricMeter, 'videogen_webhooks_total', { result: 'delivered' });
    const { event: webhook, job, taskId } = delivery;
    logEvent('webhookDelivered', { webhook, job, taskId, status });
    return { status, attempt: activityInfo().attempt };
  };
}

function notDelivered(
  reason: string,
  { isFinal = false, retryAfterMs }: { isFinal?: boolean; retryAfterMs?: number } = {},
): ApplicationFailure {
  count(metricMeter, 'videogen_webhooks_total', { result: isFinal ? 'given_up' : 'retried' });
  return ApplicationFailure.create({
    type: 'WebhookNotDelivered',
    message: `The webhook was not delivered: ${reason}.`,
    nonRetryable: isFinal,
    ...(retryAfterMs !== undefined && { nextRetryDelay: Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) }),
    // A receiver that is down is not a fault of the worker.
    category: ApplicationFailureCategory.BENIGN,
  });
}
