import { Agent } from 'undici';
import { callService, startDeadline } from './call-service';
import { createGuardedConnector, hostMatcher } from './guarded-connector';
import { readRetryAfter } from './read-values';
import { secretsOfLink } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import { traceHeaders } from './spans';
import { signWebhook } from './webhook-signature';

/** One call of a receiver, from the connection to the headers of its answer; below the timeout of WEBHOOK_POLICY. */
const WEBHOOK_EXCHANGE_MS = 20_000;

/** How a worker sends webhooks. */
export interface WebhookOptions {
  /** The receiver of jobs that name none. Its host may be at any address. */
  url?: string;
  /** Signs every webhook: `whsec_…`. Called for each one, so that a rotated secret is used at once. */
  secret: () => string;
  /** Hosts, by name or IP address, that may be called without TLS or at an address that is not public. */
  allow?: readonly string[];
}

/** Calls receivers. Each call is one attempt: only Temporal retries. */
export type WebhookSender = ReturnType<typeof createWebhookSender>;

const CONNECT_MS = 10_000;

/** Receivers are named by callers, so they are guarded as the links of videos are. Redirects are not followed. */
export function createWebhookSender({ url: defaultUrl, secret, allow = [] }: WebhookOptions) {
  const isAllowed = hostMatcher(defaultUrl === undefined ? allow : [...allow, new URL(defaultUrl).hostname]);
  const agent = new Agent({
    // Webhooks are rare: no connection is kept, so nothing has to be closed.
    pipelining: 0,
    connect: createGuardedConnector({
      timeout: CONNECT_MS,
      mayBePrivate: isAllowed,
      describe: (target, kind) =>
        `the receiver is at ${target}, a ${kind} address: add its host to VIDEOGEN_WEBHOOK_ALLOW if webhooks may go there`,
    }),
  });
  return {
    /** The receiver of jobs that name none. */
    defaultUrl,
    /** Returns at the headers of the answer, whatever its status; a ServiceFault when none come or the address is forbidden. */
    async send(
      { url, id, body }: { url: string; id: string; body: string },
      { signal: cancellation }: { signal?: AbortSignal } = {},
    ): Promise<{ status: number; retryAfterMs?: number }> {
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
        const answer = await callService(agent, {
          method: 'POST',
          origin,
          path,
          headers: {
            'content-type': 'application/json',
            'user-agent': 'temporal-videogen',
            ...signWebhook(id, body, { secret: key }),
            ...traceHeaders(),
          },
          body,
          signal,
          secrets: secretsOfLink(path, { keys: [key], wholeValues: [] }),
        });
        // Nothing in it matters, and it may be endless.
        answer.body.on('error', () => undefined).destroy();
        const waitMs = readRetryAfter(answer.headers, Date.now());
        return { status: answer.statusCode, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
      } finally {
        lift();
      }
    },
  };
}
