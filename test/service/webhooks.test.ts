import { createHmac, randomBytes } from 'node:crypto';
import {
  isWebhookSecret,
  signWebhook,
  verifySignature,
  verifyWebhook,
  type WebhookHeaders,
  WebhookRefused,
} from '../../src/service';
import { createWebhookSender } from '../../src/service/webhook-sender';
import { closed, reply } from './raw-server';
import { serve } from './service-world';

const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;
const SECRET = secretOf(32);

describe('a webhook', () => {
  const webhook = { id: 'webhook_1', body: '{"type":"video.completed"}' };

  it('is signed with the secret of its time', async () => {
    const server = await serve((request) => reply(request, { status: 204, body: '' }));
    let secret = SECRET;
    const sender = createWebhookSender({ url: server.url, secret: () => secret });
    for (secret of [secretOf(32), secretOf(32)]) {
      await sender.send({ url: server.url, ...webhook });
      const { headers, body } = await server.nextRequest();
      expect(verifySignature(headers, body, secret)).toEqual({ type: 'video.completed' });
    }
  });

  it('does not wait for the end of its answer', async () => {
    const server = await serve(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'),
    );
    const sender = createWebhookSender({ secret: () => SECRET, allow: ['127.0.0.1'] });
    expect(await sender.send({ url: server.url, ...webhook })).toStrictEqual({ status: 200 });
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
    ['no id', withHeader('webhook-id', undefined), oneHeader('webhook-id')],
    ['two ids', withHeader('webhook-id', ['webhook_1', 'webhook_1']), oneHeader('webhook-id')],
    ['a timestamp that is not a number', withHeader('webhook-timestamp', 'NaN'), AGE],
    [
      'a signature of another version',
      withHeader('webhook-signature', signature.replace('v1', 'v2')),
      SIGNATURE,
    ],
    ['a longer signature', withHeader('webhook-signature', `${signature}x`), SIGNATURE],
    [
      'thousands of signatures',
      withHeader('webhook-signature', `${'v1,AAAA '.repeat(5_000)}${signature}`),
      oneHeader('webhook-signature'),
    ],
    ['a body that is not JSON', signed('{'), 'The body of the webhook is not JSON.', '{'],
    ...[
      'null',
      JSON.stringify({ ...sent, type: 'other' }),
      JSON.stringify({ ...sent, timestamp: 5 }),
      JSON.stringify({ ...sent, data: {} }),
    ].map((text): [string, WebhookHeaders, string, string] => [
      `the signed body ${text}`,
      signed(text),
      UNKNOWN,
      text,
    ]),
    ['a short secret', signed(), 'must be whsec_', body, secretOf(16)],
    ['a secret that is not base64', signed(), 'must be whsec_', body, `whsec_${'*'.repeat(40)}`],
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
  for (const wrong of [undefined, 7, [SECRET], ` ${SECRET}`, `${SECRET}!`])
    expect(isWebhookSecret(wrong)).toBe(false);
  expect(() => signWebhook('webhook_1', '{}', { secret: 'whsec_' })).toThrow('must be whsec_');
});
