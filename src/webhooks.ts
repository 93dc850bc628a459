export {
  verifyWebhook,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookPayload,
  WebhookRefused,
} from './client/webhook';
