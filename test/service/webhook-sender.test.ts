import type { WebhookOptions } from '../../src/service';
import { ServiceFault } from '../../src/service/service-fault';
import { createWebhookSender } from '../../src/service/webhook-sender';
import { verifySignature } from '../../src/service/webhook-signature';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { closed, type RawRequest, type RawServer, reply, startRawServer } from './raw-server';

const servers: RawServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function receiver(
  answer: (request: RawRequest) => void = (request) => reply(request, { status: 204, body: '' }),
): Promise<RawServer> {
  const server = await startRawServer(answer);
  servers.push(server);
  return server;
}

const senderOf = (options: Partial<WebhookOptions> = {}) =>
  createWebhookSender({ secret: () => WEBHOOK_SECRET, ...options });
const sender = senderOf({ allow: ['127.0.0.1'] });
const webhook = (url: string) => ({ url, id: 'webhook_1', body: '{"type":"video.completed"}' });

async function faultOf(sent: Promise<unknown>): Promise<ServiceFault> {
  const outcome: unknown = await sent.catch((error: unknown) => error);
  if (outcome instanceof ServiceFault) return outcome;
  throw new Error('expected a ServiceFault', { cause: outcome });
}

it('a webhook is one signed POST to the whole address of its receiver, on a connection of its own', async () => {
  const server = await receiver();
  expect(await sender.send(webhook(`${server.url}/hooks?to=a%20b`))).toStrictEqual({ status: 204 });
  const [{ line, headers, body } = expect.anything(), ...others] = server.requests;
  expect(others).toEqual([]);
  expect(line).toBe('POST /hooks?to=a%20b HTTP/1.1');
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'temporal-videogen',
    'webhook-id': 'webhook_1',
    connection: 'close',
  });
  expect(verifySignature(headers, body, WEBHOOK_SECRET)).toEqual({ type: 'video.completed' });
});

it('every webhook is signed with the secret of its time', async () => {
  const server = await receiver();
  const secrets = ['A', 'B'].map((letter) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`);
  const waiting = [...secrets];
  const rotating = senderOf({ url: server.url, secret: () => waiting.shift() ?? '' });
  await rotating.send(webhook(server.url));
  await rotating.send(webhook(server.url));
  server.requests.forEach(({ headers, body }, at) => {
    expect(verifySignature(headers, body, secrets[at] ?? '')).toEqual({ type: 'video.completed' });
  });
});

it.each([302, 404, 503])('the answer %d is returned and not followed', async (status) => {
  const server = await receiver((request) => reply(request, { status, headers: { location: '/elsewhere' } }));
  expect(await sender.send(webhook(server.url))).toStrictEqual({ status });
  expect(server.requests).toHaveLength(1);
});

it('the answer may say when to come back', async () => {
  const server = await receiver((request) =>
    reply(request, { status: 429, headers: { 'retry-after': '7' } }),
  );
  expect(await sender.send(webhook(server.url))).toStrictEqual({ status: 429, retryAfterMs: 7_000 });
});

it('an endless answer is not read', async () => {
  const server = await receiver(({ socket }) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'),
  );
  expect(await sender.send(webhook(server.url))).toStrictEqual({ status: 200 });
  const [{ socket } = expect.anything()] = server.requests;
  await closed(socket);
});

it('the receiver of jobs that name none is known, and may be at any address', async () => {
  const server = await receiver();
  const own = senderOf({ url: `${server.url}/own` });
  expect(own.defaultUrl).toBe(`${server.url}/own`);
  expect(sender.defaultUrl).toBeUndefined();
  expect(await own.send(webhook(`${server.url}/own`))).toStrictEqual({ status: 204 });
});

it.each([
  [
    'http://receiver.example/hooks',
    'the receiver is not https: add receiver.example to VIDEOGEN_WEBHOOK_ALLOW if webhooks may go there unencrypted',
  ],
  [
    'https://127.0.0.1/hooks',
    'the receiver is at 127.0.0.1, a loopback address: add its host to VIDEOGEN_WEBHOOK_ALLOW if webhooks may go there',
  ],
])('nothing is sent to %s', async (url, message) => {
  const { kind, facts } = await faultOf(senderOf().send(webhook(url)));
  expect({ kind, ...facts }).toEqual({ kind: 'not-allowed', message });
});

it('nothing is sent to a name of a private address, and the message has both', async () => {
  const { kind, facts } = await faultOf(senderOf().send(webhook('https://localhost/hooks')));
  expect(kind).toBe('not-allowed');
  expect(facts.message).toMatch(/^the receiver is at (127\.0\.0\.1|::1) \(localhost\), a loopback address/);
});

it('a receiver that hangs up without an answer may have the webhook', async () => {
  const server = await receiver(({ socket }) => socket.destroy());
  expect((await faultOf(sender.send(webhook(server.url)))).kind).toBe('cut');
});

it('a cancelled webhook ends with the reason of the cancellation', async () => {
  const server = await receiver(() => cancellation.abort(reason));
  const cancellation = new AbortController();
  const reason = new Error('the worker shuts down');
  const { signal } = cancellation;
  await expect(sender.send(webhook(server.url), { signal })).rejects.toBe(reason);
});

it('nothing is sent with a secret that is none', async () => {
  const server = await receiver();
  const unsigned = senderOf({ url: server.url, secret: () => 'fox' });
  await expect(unsigned.send(webhook(server.url))).rejects.toThrow('must be whsec_');
  expect(server.requests).toEqual([]);
});
