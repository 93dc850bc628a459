import {
  accountsOf,
  addTaken,
  CAP_FIELDS,
  type Cap,
  type CapAccount,
  type Caps,
  capRefusal,
  dayOf,
  describeCount,
  limitsOf,
  type Taken,
  takenBy,
} from '../../src/contract/caps';
import { jsonBytes } from '../../src/contract/sizes';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });
/** As SDKs of other languages send an unset field. */
const NULLS: Record<string, unknown> = { videos: null, seconds: null, money: null };

it.each<[field: keyof typeof CAP_FIELDS, fine: unknown[], wrong: unknown[]]>([
  ['videos', [0, 1, 1_000_000_000], [-1, 0.5, 1_000_000_001, '3', Number.NaN, null, undefined]],
  [
    'seconds',
    [0, 0.5, 1_000_000_000],
    [-0.5, 1_000_000_000.5, '5', Number.NaN, Number.POSITIVE_INFINITY, null],
  ],
  ['money', [usd(2.5)], [{ amount: 2.5 }]],
])('a limit of %s is one of %j, and none of %j', (field, fine, wrong) => {
  expect(fine.filter((value) => !CAP_FIELDS[field].accepts(value))).toEqual([]);
  expect(wrong.filter((value) => CAP_FIELDS[field].accepts(value))).toEqual([]);
});

it('each of several caps has the limits that it sets', () => {
  expect(limitsOf({ videos: 0, money: usd(1) }, undefined, { seconds: 5 }, null)).toEqual([
    { unit: 'videos', limit: 0 },
    { unit: 'USD', limit: 1 },
    { unit: 'seconds', limit: 5 },
  ]);
  expect(limitsOf({}, NULLS)).toEqual([]);
});

describe('what is taken', () => {
  it('grows by each video, its seconds and its cost, as far as they are known', () => {
    const one = takenBy({ seconds: 5, estimated: usd(0.25) });
    expect(one).toEqual({ videos: 1, seconds: 5, USD: 0.25 });
    expect(addTaken(one, takenBy({ seconds: 2.5, estimated: usd(0.5) }), 2)).toEqual({
      videos: 3,
      seconds: 10,
      USD: 1.25,
    });
    expect(addTaken(one, takenBy({ estimated: eur(1) }))).toMatchObject({ USD: 0.25, EUR: 1 });
    expect(addTaken(one, one, -1)).toEqual({ videos: 0, seconds: 0, USD: 0 });
    expect(addTaken({}, takenBy({}))).toEqual({ videos: 1 });
  });

  it('adds without an error in the last digit, whatever the currency is called', () => {
    const tenth = takenBy({ seconds: 0.1, estimated: { amount: 0.1, currency: 'constructor' } });
    const thrice = addTaken(addTaken(addTaken({}, tenth), tenth), tenth);
    expect(thrice).toEqual({ videos: 3, seconds: 0.3, constructor: 0.3 });
    expect(takenBy({ seconds: 0.1 + 0.2 }).seconds).toBe(0.3);
  });
});

describe('a video', () => {
  const taken: Taken = { videos: 2, seconds: 12, USD: 1 };
  const video = takenBy({ seconds: 5, estimated: usd(0.5) });
  const refusedBy = (cap: Cap, one = video) =>
    capRefusal({ scope: 'day', limits: limitsOf(cap) }, taken, one);

  it.each<[Cap]>([[{}], [{ money: eur(0.5) }], [{ videos: 3, seconds: 17, money: usd(1.5) }], [NULLS]])(
    'is allowed by %j, up to the last of it',
    (cap) => {
      expect(refusedBy(cap)).toBeUndefined();
    },
  );

  it.each<[Cap, string, number]>([
    [{ videos: 2 }, 'day.videos', 0],
    [{ videos: 1 }, 'day.videos', 0],
    [{ seconds: 16.999 }, 'day.seconds', 4.999],
    [{ money: usd(1.499999) }, 'day.money', 0.499999],
    [{ money: usd(0.5) }, 'day.money', 0],
    [{ videos: 9, seconds: 16, money: usd(1) }, 'day.seconds', 4],
  ])('is not allowed by %j', (given, cap, capLeft) => {
    expect(refusedBy(given)).toMatchObject({ cap, capLeft });
  });

  it('that costs nothing is allowed by a cap that is reached, and one that takes something is not', () => {
    const cap = { money: usd(1) };
    expect(refusedBy(cap, takenBy({ estimated: usd(0) }))).toBeUndefined();
    expect(refusedBy(cap, takenBy({ estimated: usd(0.000001) }))).toMatchObject({ capLeft: 0 });
  });
});

describe('a cap that is reached', () => {
  const resetsAt = '2026-11-18T00:00:00.000Z';
  const video = { videos: 1, seconds: 5, USD: 0.75 };
  const OF_BATCH = 'Raise the cap of the batch, and start it again under the same name.';
  const OF_JOB =
    'Raise the cap of the job, in its input or in the caps of the worker, or ask for a shorter or cheaper video.';

  it.each<[CapAccount, Taken, message: string, cap: string, capLeft: number, advice: string | undefined]>([
    [
      { scope: 'day', limits: limitsOf({ videos: 3 }) },
      { videos: 3 },
      'the daily cap of 3 videos is reached',
      'day.videos',
      0,
      undefined,
    ],
    [
      { scope: 'key', name: 'web_shop', limits: limitsOf({ videos: 1 }) },
      { videos: 1 },
      'the daily cap of 1 video for the gateway key web_shop is reached',
      'key.videos',
      0,
      undefined,
    ],
    [
      { scope: 'batch', limits: limitsOf({ seconds: 20 }) },
      { seconds: 19 },
      'the cap of 20 seconds for this batch has 1 second left, and this video takes 5 seconds',
      'batch.seconds',
      1,
      OF_BATCH,
    ],
    [
      { scope: 'job', limits: limitsOf({ money: usd(1) }) },
      { USD: 0.5 },
      'the cap of 1.00 USD for this job has 0.50 USD left, and this video takes 0.75 USD',
      'job.money',
      0.5,
      OF_JOB,
    ],
  ])('%j after %j says what is left and what to do', (account, taken, message, cap, capLeft, advice) => {
    const facts = { cap, capLeft, ...(advice && { advice }) };
    expect(capRefusal(account, taken, video)).toStrictEqual({ message, ...facts });
    expect(capRefusal(account, taken, video, resetsAt)).toStrictEqual({
      message: `${message}; it resets at ${resetsAt}`,
      ...facts,
      capResetsAt: resetsAt,
    });
  });
});

it('what is left of a limit is without what is used and reserved, and never less than nothing', () => {
  const used = { videos: 1, seconds: 5, USD: 0.3 };
  const reserved = { videos: 2, seconds: 2.5, USD: 0.2 };
  const limits = limitsOf({ videos: 2, seconds: 20.5, money: usd(2) });
  expect(describeCount({ scope: 'day', limits, used, reserved })).toEqual([
    'the daily cap of 2 videos: 0 videos left, 1 video used, 2 videos reserved',
    'the daily cap of 20.5 seconds: 13 seconds left, 5 seconds used, 2.5 seconds reserved',
    'the daily cap of 2.00 USD: 1.50 USD left, 0.30 USD used, 0.20 USD reserved',
  ]);
});

describe('a job is counted under the limits', () => {
  const videos = (limit: number) => [{ unit: 'videos', limit }];

  it.each<[string, Caps, Parameters<typeof accountsOf>[1], object[]]>([
    ['the day', { day: { videos: 3 } }, {}, [{ scope: 'day', limits: videos(3) }]],
    ['nothing without a limit', { job: { videos: 3 }, day: {} }, { caller: 'shop' }, []],
    [
      'a key that is named',
      { key: { videos: 3 }, keys: { shop: { videos: 9 } } },
      { caller: 'shop' },
      [{ scope: 'key', name: 'shop', limits: videos(9) }],
    ],
    [
      'any key, such as one that has the name of a method',
      { key: { videos: 3 }, keys: { shop: { videos: 9 } } },
      { caller: 'constructor' },
      [{ scope: 'key', name: 'constructor', limits: videos(3) }],
    ],
    [
      'the worker and the batch',
      { batch: { videos: 3 } },
      { sharedCap: { name: 'foxes', cap: { videos: 9 } } },
      [{ scope: 'batch', name: 'foxes', limits: [...videos(3), ...videos(9)] }],
    ],
  ])('of %s', (_what, caps, job, accounts) => {
    expect(accountsOf(caps, job)).toEqual(accounts);
  });

  it('of a batch under its name if that is short, and else under one that no other batch has', () => {
    const nameOf = (name: string) => accountsOf({}, { sharedCap: { name, cap: { videos: 1 } } })[0]?.name;
    for (const name of ['red foxes', 'Füchse/2', '狐'.repeat(32), 'x'.repeat(98)])
      expect(nameOf(name)).toBe(name);
    const long = ['a', 'b'].flatMap((end) => ['x', '狐', '"', '\u0001'].map((one) => one.repeat(299) + end));
    expect(new Set(long.map(nameOf)).size).toBe(long.length);
    for (const name of long) expect(jsonBytes(nameOf(name))).toBeLessThanOrEqual(202);
  });

  it('of a day of UTC', () => {
    expect(dayOf(Date.parse('2026-12-31T23:59:59.999Z'))).toBe('2026-12-31');
  });
});
