import { ApplicationFailure } from '@temporalio/common';
import type { WebhookDelivery } from '../../src/contract/webhook';
import { workflowIdOf } from '../../src/gateway/task-names';
import { verifyWebhook, type WebhookOptions } from '../../src/service';
import { freePort } from '../../src/temporal-server/loopback-port';
import { type RawRequest, type RawServer, reply, startRawServer } from '../service/raw-server';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { startAttempt } from './activity-world';
import { createMemoryWorld } from './memory-world';

const event: WebhookDelivery = {
  id: 'webhook_1',
  event: 'video.failed',
  job: 'fox',
  taskId: 'task-1',
  failure: 'GenerationFailed',
  timestamp: '2026-01-01T00:00:00.000Z',
};

const receivers: RawServer[] = [];
afterEach(() => Promise.all(receivers.splice(0).map((one) => one.close())));

/** A receiver that gives every webhook this answer. */
async function receiver(status = 204, headers = {}) {
  const server = await startRawServer((request: RawRequest) => reply(request, { status, headers, body: '' }));
  receivers.push(server);
  return { ...server, url: `${server.url}/hooks?token=hidden` };
}

/** Sends with a worker that allows receivers on this machine, unless these options say otherwise. */
function send(
  delivery: Partial<WebhookDelivery>,
  options: Partial<WebhookOptions> = { allow: ['127.0.0.1'] },
) {
  const webhooks = { secret: () => WEBHOOK_SECRET, ...options };
  const { sendWebhook } = createMemoryWorld(undefined, { webhooks }).activities;
  return startAttempt(sendWebhook, { ...event, ...delivery }, { attempt: 3 }).result;
}

async function failureOf(sent: Promise<unknown>): Promise<ApplicationFailure> {
  const outcome = await sent.catch((error: unknown) => error);
  if (outcome instanceof ApplicationFailure) return outcome;
  throw new Error(`expected a failure, got ${JSON.stringify(outcome)}`);
}

test('a webhook says what happened to which job, signed, and its result has the status', async () => {
  const { url, requests } = await receiver();
  expect(await send({ url })).toEqual({ status: 204, attempt: 3 });
  const [{ headers, body } = expect.anything()] = requests;
  expect(headers).toMatchObject({
    'webhook-id': 'webhook_1',
    'content-type': 'application/json',
    connection: 'close',
  });
  expect(verifyWebhook(headers, body, WEBHOOK_SECRET)).toEqual({
    type: 'video.failed',
    timestamp: event.timestamp,
    data: { id: 'fox', taskId: 'task-1', failure: 'GenerationFailed' },
  });
});

test('a job of the gateway is named by the id that its caller knows, not by the name of the key', async () => {
  const { url, requests } = await receiver();
  const id = `video_${'0123456789abcdef'.repeat(2)}`;
  await send({ url, job: workflowIdOf('web_shop', id) });
  const [{ body } = { body: '' }] = requests;
  expect(JSON.parse(body).data.id).toBe(id);
  expect(body).not.toContain('web_shop');
});

test.each([
  [399, false, 'answered 399, and redirects are not followed'],
  [400, false, 'answered 400'],
  [410, true, 'answered 410'],
  [503, false, 'answered 503'],
])(
  'after the answer %s the attempt fails, for good: %s, and the message hides path and query',
  async (status, isFinal, reason) => {
    const { url, requests } = await receiver(status);
    const { message, nonRetryable } = await failureOf(send({ url }));
    expect(message).toBe(`The webhook was not delivered: ${new URL(url).host} ${reason}.`);
    expect(nonRetryable).toBe(isFinal);
    expect(requests).toHaveLength(1);
  },
);

test.each([
  [30, 30_000],
  [3_600, 600_000],
  [undefined, undefined],
])('a receiver may say when to come back, within ten minutes: %s s', async (retryAfter, delayMs) => {
  const { url } = await receiver(503, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  expect((await failureOf(send({ url }))).nextRetryDelay).toBe(delayMs);
});

test('a receiver that does not answer is tried again', async () => {
  const url = `http://127.0.0.1:${await freePort()}/hook?token=x`;
  const { message, nonRetryable } = await failureOf(send({ url }));
  expect(message).toMatch(/^The webhook was not delivered: 127\.0\.0\.1:\d+ did not answer: .*ECONNREFUSED/);
  expect(message).not.toContain('token');
  expect(nonRetryable).toBe(false);
});

test.each([
  ['http://example.com/hooks', 'the receiver is not https: add example.com to VIDEOGEN_WEBHOOK_ALLOW'],
  ['https://127.0.0.1/hooks', '127.0.0.1, a loopback address'],
])('the receiver %s is refused for good', async (url, reason) => {
  const { message, nonRetryable } = await failureOf(send({ url }, {}));
  expect(message).toContain(reason);
  expect(nonRetryable).toBe(true);
});

test("the worker's own receiver may be at any address, and is not called for a job that names one", async () => {
  const [own, other] = [await receiver(), await receiver()];
  await send({}, { url: own.url });
  await send({ url: other.url }, { url: own.url });
  expect([own.requests.length, other.requests.length]).toEqual([1, 1]);
});

test('without a secret nothing is sent, and a later attempt may send it', async () => {
  const { sendWebhook } = createMemoryWorld().activities;
  const { message, nonRetryable } = await failureOf(startAttempt(sendWebhook, event).result);
  expect(message).toContain('VIDEOGEN_WEBHOOK_SECRET');
  expect(nonRetryable).toBe(false);
});

test('a worker that has no receiver any more gives up, and says which setting is gone', async () => {
  const { message, nonRetryable } = await failureOf(send({}));
  expect(message).toContain('VIDEOGEN_WEBHOOK_URL');
  expect(nonRetryable).toBe(true);
});
