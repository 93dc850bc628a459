import { createHmac, timingSafeEqual } from 'node:crypto';

/** What happened to a video. */
export const WEBHOOK_EVENTS = ['video.completed', 'video.failed', 'video.needs_decision'] as const;

/** One of WEBHOOK_EVENTS. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The body of a webhook: what happened to which video. The video itself is read with its id. */
export interface WebhookPayload {
  type: WebhookEvent;
  /** ISO 8601. */
  timestamp: string;
  data: { id: string; taskId?: string };
}

/** The headers of a webhook, by their names in small letters. */
export type WebhookHeaders = Record<string, string | string[] | undefined>;

/** A webhook that nobody with the secret has sent, or that is too old. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

const SECRET_PREFIX = 'whsec_';
/** A captured webhook cannot be sent again after this. */
const LONGEST_AGE_SECONDS = 5 * 60;

/** The headers of the Standard Webhooks specification. The id is the same for every attempt. */
export function signWebhook(
  id: string,
  body: string,
  { secret, nowMs = Date.now() }: { secret: string; nowMs?: number },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signatureOf({ id, timestamp, body }, secret)}`,
  };
}

/**
 * Checks a webhook of a job and returns what it says; throws a WebhookRefused otherwise. Several deliveries of one event
 * have the same `webhook-id`: remember it, and answer 2xx to one that you know.
 *
 * @example
 * ```ts
 * const { type, data } = verifyWebhook(request.headers, rawBody, process.env.WEBHOOK_SECRET);
 * ```
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string,
  secret: string | undefined,
  nowMs: number = Date.now(),
): WebhookPayload {
  if (!secret) throw new WebhookRefused('There is no secret to check the webhook with.');
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name] ?? ''),
  );
  if (!id || !timestamp || !signatures) throw new WebhookRefused('A header of the webhook is missing.');
  const ageSeconds = Math.abs(nowMs / 1_000 - Number(timestamp));
  if (!(ageSeconds <= LONGEST_AGE_SECONDS)) {
    throw new WebhookRefused('The webhook is older than five minutes, or from the future.');
  }
  const expected = Buffer.from(signatureOf({ id, timestamp, body }, secret));
  // While a secret is replaced, a webhook has a signature of each.
  const matches = signatures.split(' ').filter((given) => {
    const signature = Buffer.from(given.replace(/^v1,/, ''));
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  });
  if (matches.length === 0) throw new WebhookRefused('The signature of the webhook is wrong.');
  return JSON.parse(body);
}

function signatureOf(
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
  secret: string,
) {
  const key = Buffer.from(secret.replace(new RegExp(`^${SECRET_PREFIX}`), ''), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
}
