/** How a worker sends webhooks. */
export interface WebhookOptions {
  /** The receiver of jobs that name none. Its host may be at any address. */
  url?: string;
  /** Signs every webhook: `whsec_…`. Called for each one, so that a rotated secret is used at once. */
  secret: () => string;
  /** Hosts, by name or IP address, that may be called without TLS or at an address that is not public. */
  allow?: readonly string[];
}

export interface Webhook {
  url: string;
  id: string;
  body: string;
}

export interface ReceiverAnswer {
  status: number;
  retryAfterMs?: number;
}

/** Calls receivers. Each call is one attempt: only Temporal retries. */
export interface WebhookSender {
  /** The receiver of jobs that name none. */
  readonly defaultUrl: string | undefined;
  /** Returns at the headers of the answer, whatever its status; a ServiceFault when none come or the address is forbidden. */
  send(webhook: Webhook, options?: { signal?: AbortSignal }): Promise<ReceiverAnswer>;
}

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
