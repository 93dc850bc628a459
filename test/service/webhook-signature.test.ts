import { createHmac, randomBytes } from 'node:crypto';
import {
  signWebhook,
  verifySignature,
  verifyWebhook,
  type WebhookHeaders,
  WebhookRefused,
} from '../../src/service';
import { isWebhookSecret } from '../../src/service/webhook-signature';

const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;
const secret = secretOf(32);
const sent = {
  type: 'video.completed',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { id: 'video_1', taskId: 'task-1' },
};
const body = JSON.stringify(sent);
const signed = (text = body, nowMs?: number): WebhookHeaders =>
  signWebhook('webhook_1', text, { secret, nowMs });

test('a signed webhook is verified, also by the example of the specification', () => {
  expect(verifyWebhook(signed(), body, secret)).toEqual(sent);
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

test('one of several signatures is enough while a secret is replaced', () => {
  const other = signWebhook('webhook_1', body, { secret: secretOf(24) });
  const both = `${other['webhook-signature']} v1a,abc ${signed()['webhook-signature']}`;
  expect(verifyWebhook({ ...signed(), 'webhook-signature': both }, body, secret)).toEqual(sent);
  expect(verifyWebhook({ ...signed(), 'webhook-id': ['webhook_1'] }, body, secret)).toEqual(sent);
});

const late = (ms: number) => signed(body, Date.now() - ms);
const withHeader = (name: string, value: string | string[] | undefined) => ({ ...signed(), [name]: value });

const HOSTILE: [what: string, headers: WebhookHeaders, text?: string, key?: string][] = [
  ['another body', signed(), body.replace('video_1', 'video_2')],
  ['another id', withHeader('webhook-id', 'webhook_2')],
  ['an id twice', withHeader('webhook-id', ['webhook_1', 'webhook_1'])],
  ['no id', withHeader('webhook-id', undefined)],
  ['a huge id', withHeader('webhook-id', 'x'.repeat(100_000))],
  ['an age of six minutes', late(360_000)],
  ['a time six minutes ahead', late(-360_000)],
  ...['NaN', '', ' ', '0x10', '1e9', '-1', '1'.repeat(500), 'Infinity'].map(
    (time): [string, WebhookHeaders] => [
      `the timestamp ${time.slice(0, 9)}`,
      withHeader('webhook-timestamp', time),
    ],
  ),
  [
    'a signature without its version',
    withHeader('webhook-signature', String(signed()['webhook-signature']).slice(3)),
  ],
  [
    'a signature of another version',
    withHeader('webhook-signature', String(signed()['webhook-signature']).replace('v1', 'v2')),
  ],
  ['a signature that is not base64', withHeader('webhook-signature', `v1,${'*'.repeat(44)}`)],
  ['an empty signature', withHeader('webhook-signature', 'v1,')],
  [
    'thousands of signatures',
    withHeader('webhook-signature', `${'v1,AAAA '.repeat(5_000)}${signed()['webhook-signature']}`),
  ],
  ...[
    'null',
    '5',
    '"video.completed"',
    '[]',
    '{}',
    '{"type":"video.completed"}',
    '{',
    '{"type":"other","timestamp":"","data":{"id":"a"}}',
    '{"type":"video.failed","timestamp":"x","data":{"id":5}}',
  ].map((text): [string, WebhookHeaders, string] => [`the signed body ${text}`, signed(text), text]),
  ['no secret', signed(), body, ''],
  ['an empty secret', signed(), body, 'whsec_'],
  ['a short secret', signed(), body, secretOf(16)],
  ['a secret that is not base64', signed(), body, `whsec_${'*'.repeat(40)}`],
  ['another secret', signed(), body, secretOf(32)],
];

test.each(HOSTILE)('a webhook with %s is refused', (_what, headers, text = body, key = secret) => {
  expect(() => verifyWebhook(headers, text, key)).toThrow(WebhookRefused);
});

test('a body that was parsed is refused, because it cannot be checked', () => {
  expect(() => verifyWebhook(signed(), sent as never, secret)).toThrow('The body must be the text that came');
});

test('nothing is signed with a secret that anybody could guess', () => {
  expect(() => signWebhook('webhook_1', body, { secret: 'whsec_' })).toThrow('must be whsec_');
});

test('a secret has 24 to 64 bytes', () => {
  expect([24, 32, 64].map((bytes) => isWebhookSecret(secretOf(bytes)))).toEqual([true, true, true]);
  expect([0, 23, 65, 66].map((bytes) => isWebhookSecret(secretOf(bytes)))).toEqual(Array(4).fill(false));
  expect([undefined, 7, [secret]].map(isWebhookSecret)).toEqual([false, false, false]);
});

describe('a webhook is taken', () => {
  const AT = 1_767_225_600_000;
  const headers = signed(body, AT);

  test('for five minutes, and not a moment longer', () => {
    for (const ageMs of [300_000, -300_000]) {
      expect(verifyWebhook(headers, body, secret, AT + ageMs)).toEqual(sent);
    }
    for (const ageMs of [300_001, -300_001]) {
      expect(() => verifyWebhook(headers, body, secret, AT + ageMs)).toThrow('older than five minutes');
    }
  });

  test('with a secret of the most bytes', () => {
    const longest = secretOf(64);
    expect(verifyWebhook(signWebhook('webhook_1', body, { secret: longest }), body, longest)).toEqual(sent);
  });
});

test.each([
  ['no time', 'timestamp', undefined],
  ['a time that is no text', 'timestamp', 5],
])('a signed webhook with %s is refused', (_what, name, value) => {
  const text = JSON.stringify({ ...sent, [name]: value });
  expect(() => verifyWebhook(signed(text), text, secret)).toThrow('The body of the webhook is none of');
});

test.each([
  ['before the number', (time: string) => `x${time}`],
  ['after the number', (time: string) => `${time}.5`],
])('a timestamp with something %s is refused, although it is signed', (_where, change) => {
  const timestamp = change(String(Math.floor(Date.now() / 1_000)));
  const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`webhook_1.${timestamp}.${body}`)
    .digest('base64');
  const headers = {
    'webhook-id': 'webhook_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  expect(() => verifyWebhook(headers, body, secret)).toThrow('older than five minutes');
});

test.each([
  ['before it', (signature: string) => `x${signature}`],
  ['after it', (signature: string) => `${signature}x`],
])('a signature with something %s is refused', (_where, change) => {
  const headers = withHeader('webhook-signature', change(String(signed()['webhook-signature'])));
  expect(() => verifyWebhook(headers, body, secret)).toThrow('The signature of the webhook is wrong.');
});

test('a signed body that is not JSON is refused as such', () => {
  expect(() => verifySignature(signed('{'), '{', secret)).toThrow('The body of the webhook is not JSON.');
});

test('an empty header counts as none', () => {
  expect(() => verifyWebhook(withHeader('webhook-id', ''), body, secret)).toThrow(
    'The webhook must have one header webhook-id.',
  );
});
