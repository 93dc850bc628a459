import type { WebhookOptions, WebhookSender } from './http-webhook-sender';

/** The sender loads undici for its first webhook, as a video service does for its first call. */
export function createWebhookSender(options: WebhookOptions): WebhookSender {
  let opened: WebhookSender | undefined;
  const open = () => {
    opened ??= openHttp(options);
    return opened;
  };
  return {
    defaultUrl: options.url,
    send: async (webhook, sending) => open().send(webhook, sending),
  };
}

function openHttp(options: WebhookOptions): WebhookSender {
  const {
    createHttpWebhookSender,
  }: typeof import('./http-webhook-sender') = require('./http-webhook-sender');
  return createHttpWebhookSender(options);
}
