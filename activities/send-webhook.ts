import { ApplicationFailure, activityInfo, cancellationSignal, metricMeter } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { JOB_FIELDS } from '../src/contract/input-rules';
import { count } from '../src/contract/metrics';
import { RETRY_AFTER_MAX_MS } from '../src/contract/policies';
import { type WebhookDelivery, webhookPayload } from '../src/contract/webhook';
import { type ReceiverAnswer, ServiceFault, type WebhookSender } from '../src/service';
import { logEvent } from './log-event';

/** Result of the activity sendWebhook. */
export interface SentWebhook {
  /** The HTTP status of the receiver's answer. */
  status: number;
  attempt: number;
}

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
      throw notDelivered('the worker has no VIDEOGEN_WEBHOOK_URL any more', { isFinal: true });
    // Any program can start the workflow that calls this.
    const { accepts, sentence } = JOB_FIELDS.callbackUrl;
    if (!accepts(url)) throw notDelivered(`callbackUrl ${sentence}`, { isFinal: true });
    const body = JSON.stringify(webhookPayload(delivery));
    const answer = await sender
      .send({ url, id: delivery.id, body }, { signal: cancellationSignal() })
      .catch((error: unknown) => {
        throw error instanceof ServiceFault ? ofFault(error, url) : error;
      });
    if (answer.status < 200 || answer.status > 299) throw ofAnswer(answer, url);
    count(metricMeter, 'videogen_webhooks_total', { result: 'delivered' });
    logEvent('webhookDelivered', {
      webhook: delivery.event,
      job: delivery.job,
      taskId: delivery.taskId,
      status: answer.status,
    });
    return { status: answer.status, attempt: activityInfo().attempt };
  };
}

/** A forbidden address stays forbidden until the operator allows it. */
function ofFault({ kind, facts }: ServiceFault, url: string): ApplicationFailure {
  const reason = facts.message ?? facts.code ?? kind;
  if (kind === 'not-allowed') return notDelivered(reason, { isFinal: true });
  return notDelivered(`${hostOf(url)} did not answer: ${reason}`);
}

/** 410 is how a receiver says that it wants nothing further. A redirect is not followed: it could lead anywhere. */
function ofAnswer({ status, retryAfterMs }: ReceiverAnswer, url: string): ApplicationFailure {
  const redirects = status > 299 && status < 400 ? ', and redirects are not followed' : '';
  return notDelivered(`${hostOf(url)} answered ${status}${redirects}`, {
    isFinal: status === GONE,
    retryAfterMs,
  });
}

/** Without path and query, which may contain a token. */
function hostOf(url: string): string {
  return new URL(url).host;
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
