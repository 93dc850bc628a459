import { createHmac, randomBytes } from 'node:crypto';
import {
  isWebhookSecret,
  signWebhook,
  verifySignature,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookOptions,
  WebhookRefused,
} from '../../src/service';
import { createWebhookSender } from '../../src/service/webhook-sender';
import { closed, type RawRequest, reply } from './raw-server';
import { serve } from './service-world';

const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;
const SECRET = secretOf(32);

describe('a webhook', () => {
  const receiver = (answer = (request: RawRequest) => reply(request, { status: 204, body: '' })) =>
    serve(answer);
  const senderOf = (options: Partial<WebhookOptions> = {}) =>
    createWebhookSender({ secret: () => SECRET, ...options });
  const sender = senderOf({ allow: ['127.0.0.1'] });
  const webhook = (url: string) => ({ url, id: 'webhook_1', body: '{"type":"video.completed"}' });

  it('is signed with the secret of its time', async () => {
    const server = await receiver();
    const secrets = [secretOf(32), secretOf(32)];
    const waiting = [...secrets];
    const rotating = senderOf({ url: server.url, secret: () => waiting.shift() ?? '' });
    for (const secret of secrets) {
      await rotating.send(webhook(server.url));
      const { headers, body } = await server.nextRequest();
      expect(verifySignature(headers, body, secret)).toEqual({ type: 'video.completed' });
    }
  });

  it('does not wait for the end of its answer', async () => {
    const server = await receiver(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'),
    );
    expect(await sender.send(webhook(server.url))).toStrictEqual({ status: 200 });
    await closed((await server.nextRequest()).socket);
  });
});

describe('a received webhook', () => {
  const sent = {
    type: 'video.completed',
    timestamp: '2026-01-01T00:00:00.000Z',
    data: { id: 'video_1', taskId: 'task-1' },
  };
  const body = JSON.stringify(sent);
  const signed = (text = body, nowMs?: number): WebhookHeaders =>
    signWebhook('webhook_1', text, { secret: SECRET, nowMs });
  const signature = String(signed()['webhook-signature']);
  const withHeader = (name: string, value: string | string[] | undefined) => ({ ...signed(), [name]: value });

  it('is verified, also by the example of the specification', () => {
    expect(verifyWebhook(signed(), body, SECRET)).toEqual(sent);
    const example = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(verifySignature(example, '{"test": 2432232314}', key, 1_614_265_330_000)).toEqual({
      test: 2432232314,
    });
  });

  const SIGNATURE = 'The signature of the webhook is wrong.';
  const AGE = 'older than five minutes';
  const UNKNOWN = 'The body of the webhook is not one of';
  const oneHeader = (name: string) => `The webhook must have one header ${name}.`;

  it.each<[what: string, headers: WebhookHeaders, problem: string, text?: string, key?: string]>([
    ['another body', signed(), SIGNATURE, body.replace('video_1', 'video_2')],
    ['another id', withHeader('webhook-id', 'webhook_2'), SIGNATURE],
    ...[undefined, '', ['webhook_1', 'webhook_1'], 'x'.repeat(100_000)].map(
      (id): [string, WebhookHeaders, string] => [
        `the id ${String(id).slice(0, 9)}`,
        withHeader('webhook-id', id),
        oneHeader('webhook-id'),
      ],
    ),
    ...['NaN', ' ', '0x10', '1e9', '-1', '1'.repeat(500), 'Infinity'].map(
      (time): [string, WebhookHeaders, string] => [
        `the timestamp ${time.slice(0, 9)}`,
        withHeader('webhook-timestamp', time),
        AGE,
      ],
    ),
    ...[signature.slice(3), signature.replace('v1', 'v2'), 'v1,', `${signature}x`].map(
      (given): [string, WebhookHeaders, string] => [
        `the signature ${given.slice(0, 6)}`,
        withHeader('webhook-signature', given),
        SIGNATURE,
      ],
    ),
    [
      'thousands of signatures',
      withHeader('webhook-signature', `${'v1,AAAA '.repeat(5_000)}${signature}`),
      oneHeader('webhook-signature'),
    ],
    ['a body that is not JSON', signed('{'), 'The body of the webhook is not JSON.', '{'],
    ...[
      'null',
      '{"type":"video.completed"}',
      '{"type":"other","timestamp":"","data":{"id":"a"}}',
      JSON.stringify({ ...sent, timestamp: 5 }),
    ].map((text): [string, WebhookHeaders, string, string] => [
      `the signed body ${text}`,
      signed(text),
      UNKNOWN,
      text,
    ]),
    ...['', 'whsec_', secretOf(16), `whsec_${'*'.repeat(40)}`].map(
      (key): [string, WebhookHeaders, string, string, string] => [
        `the secret ${key.slice(0, 9)}`,
        signed(),
        'must be whsec_',
        body,
        key,
      ],
    ),
    ['another secret', signed(), SIGNATURE, body, secretOf(32)],
  ])('with %s is refused', (_what, headers, problem, text = body, key = SECRET) => {
    const verifying = () => verifyWebhook(headers, text, key);
    expect(verifying).toThrow(WebhookRefused);
    expect(verifying).toThrow(problem);
  });

  it('with a timestamp that is not a whole number is refused, although it is signed', () => {
    const timestamp = `${Math.floor(Date.now() / 1_000)}.5`;
    const hmac = createHmac('sha256', Buffer.from(SECRET.slice('whsec_'.length), 'base64'));
    const headers = {
      'webhook-id': 'webhook_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${hmac.update(`webhook_1.${timestamp}.${body}`).digest('base64')}`,
    };
    expect(() => verifyWebhook(headers, body, SECRET)).toThrow(AGE);
  });

  it('that was parsed is refused, because it cannot be checked', () => {
    expect(() => verifyWebhook(signed(), sent as never, SECRET)).toThrow(
      'The body must be the text that came',
    );
  });

  it('is taken for five minutes, and not a moment longer', () => {
    const AT = 1_767_225_600_000;
    const verifyAt = (ageMs: number) => verifyWebhook(signed(body, AT), body, SECRET, AT + ageMs);
    for (const ageMs of [300_000, -300_000]) expect(verifyAt(ageMs)).toEqual(sent);
    for (const ageMs of [300_001, -300_001]) expect(() => verifyAt(ageMs)).toThrow(AGE);
  });
});

it('a secret has 24 to 64 bytes, and nothing is signed with one that anybody could guess', () => {
  expect([24, 32, 64].map((bytes) => isWebhookSecret(secretOf(bytes)))).toEqual([true, true, true]);
  expect([0, 23, 65, 66].map((bytes) => isWebhookSecret(secretOf(bytes)))).toEqual(Array(4).fill(false));
  expect([undefined, 7, [SECRET]].map(isWebhookSecret)).toEqual([false, false, false]);
  expect(() => signWebhook('webhook_1', '{}', { secret: 'whsec_' })).toThrow('must be whsec_');
});
