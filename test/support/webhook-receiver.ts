import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, type WebhookHeaders } from '../../src/service';

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 'fox').toString('base64')}`;

export interface ReceivedWebhook {
  id: string;
  headers: WebhookHeaders;
  body: string;
  /** The status it was answered with. */
  status: number;
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

/**
 * A receiver on this machine that checks signatures, as a receiver should. `statuses` are its first answers; after them it
 * answers 204.
 */
export async function startWebhookReceiver(statuses: number[] = []) {
  const received: ReceivedWebhook[] = [];
  const waiting = [...statuses];
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const status = waiting.shift() ?? 204;
    received.push({ id: String(request.headers['webhook-id']), headers: request.headers, body, status });
    reply.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks?token=hidden`,
    received,
    /** What it accepted, by job. */
    accepted: (job: string): { id: string; type: string; data: object }[] =>
      received
        .filter(({ status }) => status < 300)
        .map(({ id, headers, body }) => ({ id, ...verifyWebhook(headers, body, WEBHOOK_SECRET) }))
        .filter(({ data }) => data.id === job),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
