/** For receivers of webhooks. It loads nothing of Temporal. */
export { WEBHOOK_EVENTS, type WebhookEvent, type WebhookPayload } from './contract/webhook';
export { verifyWebhook, type WebhookHeaders, WebhookRefused } from './service/webhook-signature';
