import { parseProfile, readingRules, type ServiceProfile } from '../../src/service';
import { traceAnswer } from '../../src/service/read-answer';

const answer = (body: object) => ({ status: 200, body: JSON.stringify(body) });
const read = (body: object, profile: ServiceProfile = {}) =>
  traceAnswer(answer({ task_id: 'task_1', status: 'succeeded', ...body }), readingRules(profile));
const usd = (amount: number) => ({ amount, currency: 'USD' });
const credits = (amount: number) => ({ amount, currency: 'credits' });
const PRICES = { currency: 'EUR', table: [{ perVideo: 1 }] };

test.each<[body: object, charged: object]>([
  [{ cost_usd: 0.25 }, usd(0.25)],
  [{ usage: { cost_usd: 1 } }, usd(1)],
  [{ data: { cost_usd: 0.5 } }, usd(0.5)],
  [{ usage: { cost_in_usd_ticks: 200_000_000 } }, usd(0.02)],
  [{ credits_charged: 450 }, credits(450)],
  [{ credits_used: 2.5 }, credits(2.5)],
  [{ cost_usd: 0 }, usd(0)],
])('a field that says its unit is read without a profile: %j', (body, charged) => {
  expect(read(body)).toMatchObject({ charged, doubts: [] });
});

test.each<[body: object]>([
  [{ cost: 0.25 }],
  [{ credits: 12 }],
  [{ usage: { cost: 0.25, total_tokens: 246_840 } }],
  [{ price: '$0.25' }],
])('a field that may mean anything is not: %j', (body) => {
  expect(read(body).charged).toBeUndefined();
});

test.each<[read: NonNullable<ServiceProfile['read']>['charged'], body: object, charged: object]>([
  ['usage.cost', { usage: { cost: 0.5 } }, { amount: 0.5, currency: 'EUR' }],
  [['bill.total', 'cost'], { cost: 3 }, { amount: 3, currency: 'EUR' }],
  [{ amount: 'credits', currency: 'credits' }, { credits: 12 }, credits(12)],
  [{ amount: 'cost_cents', divideBy: 100 }, { cost_cents: 45 }, { amount: 0.45, currency: 'EUR' }],
])('a profile says where it is, and in which unit: %j', (charged, body, money) => {
  expect(read(body, { prices: PRICES, read: { charged } })).toMatchObject({ charged: money });
});

test('a unit that the prices do not have is read only if the profile asks for it', () => {
  expect(read({ credits_used: 5 }, { prices: PRICES }).charged).toBeUndefined();
  expect(read({ cost_usd: 5 }, { prices: { ...PRICES, currency: 'USD' } })).toMatchObject({
    charged: usd(5),
  });
});

test.each(['queued', 'running', 'strange'])(
  'before the end of a task it is an estimate of theirs: %s',
  (status) => {
    expect(read({ status, cost_usd: 0.25 }).charged).toBeUndefined();
  },
);

test.each(['failed', 'cancelled'])('a task that is %s may have been charged too', (status) => {
  expect(read({ status, cost_usd: 0 })).toMatchObject({ charged: usd(0) });
});

test.each<[value: unknown]>([[-0.25], [1e300], ['0.25'], ['\u001b[31mfree'], [true], [{}], [[]]])(
  'a cost of %j is ignored, and the video is there',
  (value) => {
    const reading = read({ cost_usd: value, video_url: 'https://example.com/fox.mp4' });
    expect(reading.charged).toBeUndefined();
    expect(reading.task).toMatchObject({ state: 'succeeded', videoUrl: 'https://example.com/fox.mp4' });
  },
);

test('a number that JSON cannot have is ignored as well, and so is none at all', () => {
  const body = '{"task_id":"task_1","status":"succeeded","cost_usd":1e999}';
  expect(traceAnswer({ status: 200, body }).charged).toBeUndefined();
  expect(read({ cost_usd: null })).toMatchObject({ doubts: [] });
});

test.each<[profile: object, problem: string]>([
  [{ prices: { currency: 'USD', table: [] } }, 'prices.table must have a row'],
  [
    { prices: { currency: 'USD', table: [{ perVideo: 1 }], defaults: { duration: 1e10 } } },
    'prices.defaults.duration must be a number above 0 and at most 86400, such as 5',
  ],
  [{ prices: { currency: 'USD', table: [{}] } }, 'prices.table.0 must have perSecond or perVideo'],
  [{ prices: { currency: 'US Dollar', table: [{ perVideo: 1 }] } }, 'prices.currency must be a word'],
  [
    { prices: { currency: 'USD', table: [{ perVideo: -1 }] } },
    'prices.table.0.perVideo must be a number from 0',
  ],
  [
    { prices: { currency: 'USD', table: [{ perVideo: '1' }] } },
    'prices.table.0.perVideo must be a number, such as 0.5',
  ],
  [
    { prices: { currency: 'USD', table: [{ operation: 'video', perVideo: 1 }] } },
    'prices.table.0.operation must be one of text-to-video, image-to-video',
  ],
  [
    { prices: { currency: 'USD', table: [{ perVideo: 1 }], defaults: { duration: 0 } } },
    'prices.defaults.duration must be a number above 0',
  ],
  [{ read: { charged: 'usage.cost' } }, 'read.charged needs a currency'],
  [
    { read: { charged: { amount: 'cost', currency: 'USD', divideBy: 0 } } },
    'read.charged.divideBy must be a number above 0',
  ],
])('a profile with a wrong price is refused: %j', (profile, problem) => {
  expect(parseProfile(profile)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
});

test('the profile of the page about costs is correct', () => {
  const prices = {
    currency: 'USD',
    table: [{ operation: 'text-to-video', resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }],
    defaults: { duration: 5, resolution: '720p' },
  };
  expect(parseProfile({ prices, read: { charged: 'usage.cost' } })).toMatchObject({ ok: true });
});
