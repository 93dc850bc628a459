import { Agent } from 'undici';
import { WEBHOOK_EXCHANGE_MS } from '../contract/policies';
import { callService, startDeadline } from './call-service';
import { createVideoConnector, normalizeHost } from './download-rules';
import { traceAnswer } from './read-answer';
import { secretsOfLink } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import type { WebhookOptions, WebhookSender } from './webhook-sender';
import { signWebhook } from './webhook-signature';

const CONNECT_MS = 10_000;

/**
 * Receivers are named by callers, so they are guarded as the links of videos are. Redirects are not followed. Loads undici:
 * see webhook-sender.ts.
 */
export function createHttpWebhookSender({
  url: defaultUrl,
  secret,
  allow = [],
}: WebhookOptions): WebhookSender {
  const own = defaultUrl === undefined ? [] : [new URL(defaultUrl).hostname];
  const allowed = new Set([...allow, ...own].map(normalizeHost));
  const isAllowed = (hostname: string) => allowed.has(normalizeHost(hostname));
  const dispatcher = new Agent({
    // Webhooks are rare: no connection is kept, so nothing has to be closed.
    pipelining: 0,
    connect: createVideoConnector({
      timeout: CONNECT_MS,
      mayBePrivate: isAllowed,
      redactHost: (hostname) => hostname,
      describe: (target, kind) =>
        `the receiver is at ${target}, a ${kind} address: add its host to VIDEOGEN_WEBHOOK_ALLOW if webhooks may go there`,
    }),
  });
  return {
    defaultUrl,
    async send({ url, id, body }, { signal: cancellation } = {}) {
      const { origin, protocol, hostname, pathname, search } = new URL(url);
      if (protocol !== 'https:' && !isAllowed(hostname)) {
        throw new ServiceFault('not-allowed', {
          message: `the receiver is not https: add ${hostname} to VIDEOGEN_WEBHOOK_ALLOW if webhooks may go there unencrypted`,
        });
      }
      const path = pathname + search;
      const { signal, lift } = startDeadline(WEBHOOK_EXCHANGE_MS, cancellation);
      try {
        const key = secret();
        const answer = await callService(dispatcher, {
          method: 'POST',
          origin,
          path,
          headers: {
            'content-type': 'application/json',
            'user-agent': 'temporal-videogen',
            ...signWebhook(id, body, { secret: key }),
          },
          body,
          signal,
          secrets: secretsOfLink(path, { keys: [key], wholeValues: [] }),
          headersTimeout: WEBHOOK_EXCHANGE_MS,
          bodyTimeout: WEBHOOK_EXCHANGE_MS,
        });
        const { statusCode: status, headers } = answer;
        // Nothing in it matters, and it may be endless.
        answer.body.on('error', () => undefined).destroy();
        const { retryAfterMs } = traceAnswer({ status, headers, receivedAtMs: Date.now(), body: '' });
        return { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
      } finally {
        lift();
      }
    },
  };
}
