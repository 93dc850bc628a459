import { createHmac, timingSafeEqual } from 'node:crypto';
import { jsonIn } from '../contract/clean-text';
import { WEBHOOK_EVENTS, type WebhookPayload } from '../contract/webhook';

/** The headers of a webhook, by their names in small letters. */
export type WebhookHeaders = Record<string, string | string[] | undefined>;

/** A webhook that was not sent by a holder of the secret, or that is too old. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

const SECRET = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/;
/** As the specification asks. A shorter secret could be guessed, and an empty one signs for everyone. */
const SECRET_BYTES = { least: 24, most: 64 };
/** A captured webhook cannot be sent again after this. */
const LONGEST_AGE_SECONDS = 5 * 60;
/** Room for a dozen signatures; while a secret is replaced there are two. */
const LONGEST_HEADER_CHARS = 1_000;

export const WEBHOOK_SECRET_RULE = `must be whsec_ and the base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes`;

export function isWebhookSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && keyOf(secret) !== undefined;
}

/** The headers of the Standard Webhooks specification. The id is the same for every attempt. */
export function signWebhook(
  id: string,
  body: string,
  { secret, nowMs = Date.now() }: { secret: string; nowMs?: number },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = signatureOf(`${id}.${timestamp}.${body}`, secret);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
}

/**
 * Checks a webhook of a job and returns what it says; throws a WebhookRefused otherwise. `body` is the body as it came,
 * before it is parsed. Several deliveries of one event have the same `webhook-id`: remember it, and answer 2xx to one that
 * you know.
 *
 * @example
 * ```ts
 * function receive(headers: WebhookHeaders, rawBody: string, secret: string) {
 *   const { type, data } = verifyWebhook(headers, rawBody, secret);
 *   console.log(type, data.id);
 * }
 * ```
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string,
  secret: string,
  nowMs: number = Date.now(),
): WebhookPayload {
  const sent = verifySignature(headers, body, secret, nowMs);
  const { type, timestamp, data }: Record<string, unknown> = Object(sent);
  // A sender with the secret may still send what this version does not know.
  const isKnown = WEBHOOK_EVENTS.some((known) => known === type);
  if (!isKnown || typeof timestamp !== 'string' || typeof Object(data).id !== 'string')
    throw new WebhookRefused(`The body of the webhook is not one of ${WEBHOOK_EVENTS.join(', ')}.`);
  return sent as WebhookPayload;
}

/** The body of a webhook of any sender, checked by its signature. */
export function verifySignature(
  headers: WebhookHeaders,
  body: string,
  secret: string,
  nowMs: number = Date.now(),
): unknown {
  if (typeof body !== 'string') {
    throw new WebhookRefused('The body must be the text that came: parsed and written again it differs.');
  }
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  const ageSeconds = Math.abs(nowMs / 1_000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || ageSeconds > LONGEST_AGE_SECONDS) {
    throw new WebhookRefused('The webhook is older than five minutes, or from the future.');
  }
  const expected = signatureOf(`${id}.${timestamp}.${body}`, secret);
  if (!signatures.split(' ').some((given) => isSame(given, expected)))
    throw new WebhookRefused('The signature of the webhook is wrong.');
  const sent = jsonIn(body);
  if (sent === undefined) throw new WebhookRefused('The body of the webhook is not JSON.');
  return sent;
}

/** Takes as long for any text of this length. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const [value = '', ...others] = [headers[name]].flat();
  if (value === '' || others.length > 0 || value.length > LONGEST_HEADER_CHARS)
    throw new WebhookRefused(`The webhook must have one header ${name}.`);
  return value;
}

function keyOf(secret: string): Buffer | undefined {
  const [, base64 = ''] = SECRET.exec(secret ?? '') ?? [];
  const key = Buffer.from(base64, 'base64');
  return key.length >= SECRET_BYTES.least && key.length <= SECRET_BYTES.most ? key : undefined;
}

function signatureOf(content: string, secret: string): string {
  const key = keyOf(secret);
  if (key === undefined) throw new WebhookRefused(`The secret ${WEBHOOK_SECRET_RULE}.`);
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}
