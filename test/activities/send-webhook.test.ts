import { ApplicationFailure } from '@temporalio/common';
import { createSendWebhook } from '../../activities/send-webhook';
import type { WebhookDelivery } from '../../src/contract/webhook';
import { workflowIdOf } from '../../src/gateway/task-names';
import { ServiceFault, verifyWebhook } from '../../src/service';
import { createWebhookSender } from '../../src/service/webhook-sender';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { startAttempt } from './activity-world';

const secret = () => WEBHOOK_SECRET;
const event: WebhookDelivery = {
  id: 'webhook_1',
  event: 'video.failed',
  job: 'fox',
  taskId: 'task-1',
  failure: 'GenerationFailed',
  timestamp: '2026-01-01T00:00:00.000Z',
};

const receivers: WebhookReceiver[] = [];
afterAll(() => Promise.all(receivers.map((one) => one.close())));

async function receiver(statuses?: number[]): Promise<WebhookReceiver> {
  const one = await startWebhookReceiver(statuses);
  receivers.push(one);
  return one;
}

/** Sends with a worker that allows these hosts. */
function send(
  delivery: Partial<WebhookDelivery>,
  options: { allow?: string[]; url?: string } = { allow: ['127.0.0.1'] },
) {
  const activity = createSendWebhook(createWebhookSender({ secret, ...options }));
  return startAttempt(activity, { ...event, ...delivery }, { attempt: 3 }).result;
}

async function failureOf(sent: Promise<unknown>): Promise<ApplicationFailure> {
  const outcome = await sent.catch((error: unknown) => error);
  if (outcome instanceof ApplicationFailure) return outcome;
  throw new Error(`expected a failure, got ${JSON.stringify(outcome)}`);
}

test('a webhook says what happened to which job, signed, and its result has the status', async () => {
  const { url, received } = await receiver();
  expect(await send({ url })).toEqual({ status: 204, attempt: 3 });
  const [{ headers = {}, body = '' } = {}] = received;
  expect(headers).toMatchObject({ 'webhook-id': 'webhook_1', 'content-type': 'application/json' });
  expect(verifyWebhook(headers, body, WEBHOOK_SECRET)).toEqual({
    type: 'video.failed',
    timestamp: event.timestamp,
    data: { id: 'fox', taskId: 'task-1', failure: 'GenerationFailed' },
  });
});

test('a job of the gateway is named by the id that its caller knows, not by the name of the key', async () => {
  const { url, received } = await receiver();
  const id = `video_${'0123456789abcdef'.repeat(2)}`;
  await send({ url, job: workflowIdOf('web_shop', id) });
  expect(JSON.parse(received[0]?.body ?? '').data.id).toBe(id);
  expect(received[0]?.body).not.toContain('web_shop');
});

test.each([
  [302, false, 'answered 302, and redirects are not followed'],
  [400, false, 'answered 400'],
  [410, true, 'answered 410'],
  [503, false, 'answered 503'],
])(
  'after %s the attempt fails, for good: %s, and the message hides path and query',
  async (status, isFinal, reason) => {
    const { url, received } = await receiver([status]);
    const { message, nonRetryable } = await failureOf(send({ url }));
    expect(message).toBe(`The webhook was not delivered: ${new URL(url).host} ${reason}.`);
    expect(nonRetryable).toBe(isFinal);
    expect(received).toHaveLength(1);
  },
);

test.each([
  ['http://example.com/hooks', 'the receiver is not https: add example.com to VIDEOGEN_WEBHOOK_ALLOW'],
  ['https://127.0.0.1/hooks', '127.0.0.1, a loopback address'],
  ['https://[::1]/hooks', '::1, a loopback address'],
  ['https://169.254.169.254/latest', '169.254.169.254, a link-local address'],
  ['https://localhost/hooks', 'a loopback address'],
  ['https://user:password@example.com/', 'without a user and a password'],
  ['file:///etc/passwd', 'must be an http(s) URL'],
])('%s is refused for good', async (url, reason) => {
  const { message, nonRetryable } = await failureOf(send({ url }, {}));
  expect(message).toContain(reason);
  expect(nonRetryable).toBe(true);
});

test("the worker's own receiver may be at any address, and is not called for a job that names one", async () => {
  const [own, other] = [await receiver(), await receiver()];
  await send({}, { url: own.url });
  await send({ url: other.url }, { url: own.url });
  expect([own.received.length, other.received.length]).toEqual([1, 1]);
});

test('without a secret nothing is sent, and a later attempt may send it', async () => {
  const { message, nonRetryable } = await failureOf(startAttempt(createSendWebhook(undefined), event).result);
  expect(message).toContain('VIDEOGEN_WEBHOOK_SECRET');
  expect(nonRetryable).toBe(false);
});

test('a worker that has no receiver any more gives up, and says which setting is gone', async () => {
  const { message, nonRetryable } = await failureOf(send({}, {}));
  expect(message).toContain('VIDEOGEN_WEBHOOK_URL');
  expect(nonRetryable).toBe(true);
});

test('a receiver that does not answer is tried again', async () => {
  const cut = new ServiceFault('cut', { code: 'ECONNRESET' });
  const sender = { defaultUrl: undefined, send: () => Promise.reject(cut) };
  const url = 'https://receiver.example/hook?token=x';
  const { message, nonRetryable } = await failureOf(
    startAttempt(createSendWebhook(sender), { ...event, url }).result,
  );
  expect(message).toBe('The webhook was not delivered: receiver.example did not answer: ECONNRESET.');
  expect(nonRetryable).toBe(false);
});

describe('an answer', () => {
  const answering = (answer: { status: number; retryAfterMs?: number }) =>
    startAttempt(
      createSendWebhook({ defaultUrl: undefined, send: async () => answer }),
      { ...event, url: 'https://receiver.example/hook' },
      { attempt: 1 },
    ).result;

  test.each([200, 204, 299])('of %i is a delivery', async (status) => {
    expect(await answering({ status })).toEqual({ status, attempt: 1 });
  });

  test.each([
    [199, false],
    [300, true],
    [399, true],
    [400, false],
  ])('of %i is none, and says of a redirect that it is not followed', async (status, isRedirect) => {
    const { message } = await failureOf(answering({ status }));
    expect([message.includes(`answered ${status}`), message.includes('redirects are not followed')]).toEqual([
      true,
      isRedirect,
    ]);
  });

  test('may say when to come back, within ten minutes', async () => {
    const delayOf = async (retryAfterMs?: number) =>
      (await failureOf(answering({ status: 503, ...(retryAfterMs !== undefined && { retryAfterMs }) })))
        .nextRetryDelay;
    expect(await delayOf(30_000)).toBe(30_000);
    expect(await delayOf(0)).toBe(0);
    expect(await delayOf(3_600_000)).toBe(600_000);
    expect(await delayOf()).toBeUndefined();
  });
});
