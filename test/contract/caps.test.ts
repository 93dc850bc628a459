import {
  addTaken,
  CAP_FIELDS,
  type Cap,
  type CapAccount,
  capRefusal,
  describeCount,
  limitsOf,
  type Taken,
  takenBy,
} from '../../src/contract/caps';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });
/** As SDKs of other languages send an unset field. */
const NULLS: Record<string, unknown> = { videos: null, seconds: null, money: null };

describe('a limit', () => {
  it.each([0, 1, 1_000_000_000])('of %p videos is one', (value) => {
    expect(CAP_FIELDS.videos.accepts(value)).toBe(true);
  });

  it.each([-1, 0.5, 1_000_000_001, '3', Number.NaN, null, undefined])('of %p videos is none', (value) => {
    expect(CAP_FIELDS.videos.accepts(value)).toBe(false);
  });

  it.each([0, 0.5, 1_000_000_000])('of %p seconds is one', (value) => {
    expect(CAP_FIELDS.seconds.accepts(value)).toBe(true);
  });

  it.each([-0.5, 1_000_000_000.5, '5', Number.NaN, Number.POSITIVE_INFINITY, null])(
    'of %p seconds is none',
    (value) => {
      expect(CAP_FIELDS.seconds.accepts(value)).toBe(false);
    },
  );

  it('of money has an amount and a currency', () => {
    expect(CAP_FIELDS.money.accepts(usd(2.5))).toBe(true);
    expect(CAP_FIELDS.money.accepts({ amount: 2.5 })).toBe(false);
  });

  it('is in each of several caps that set one', () => {
    expect(limitsOf({ videos: 0, money: usd(1) }, undefined, { seconds: 5 }, null)).toEqual([
      { unit: 'videos', limit: 0 },
      { unit: 'USD', limit: 1 },
      { unit: 'seconds', limit: 5 },
    ]);
    expect(limitsOf({}, NULLS)).toEqual([]);
  });
});

describe('what is taken', () => {
  it('grows by each video, its seconds and its cost', () => {
    const one = takenBy({ seconds: 5, estimated: usd(0.25) });
    expect(one).toEqual({ videos: 1, seconds: 5, USD: 0.25 });
    expect(addTaken(one, takenBy({ seconds: 2.5, estimated: usd(0.5) }), 2)).toEqual({
      videos: 3,
      seconds: 10,
      USD: 1.25,
    });
    expect(addTaken(one, takenBy({ estimated: eur(1) }))).toMatchObject({ USD: 0.25, EUR: 1 });
    expect(addTaken(one, one, -1)).toEqual({ videos: 0, seconds: 0, USD: 0 });
  });

  it('counts a video of unknown length and cost as a video', () => {
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
  const refusedBy = (cap: Cap, one = video) =>
    capRefusal({ scope: 'day', limits: limitsOf(cap) }, taken, one);
  const video = takenBy({ seconds: 5, estimated: usd(0.5) });

  it.each<[Cap]>([
    [{}],
    [{ videos: 3 }],
    [{ seconds: 17 }],
    [{ money: usd(1.5) }],
    [{ money: eur(0.5) }],
    [{ videos: 3, seconds: 17, money: usd(1.5) }],
    [NULLS],
  ])('is allowed by %j, up to the last of it', (cap) => {
    expect(refusedBy(cap)).toBeUndefined();
  });

  it.each<[Cap, string, number]>([
    [{ videos: 2 }, 'day.videos', 0],
    [{ videos: 1 }, 'day.videos', 0],
    [{ seconds: 16.999 }, 'day.seconds', 4.999],
    [{ seconds: 10 }, 'day.seconds', 0],
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
  const day: CapAccount = { scope: 'day', limits: limitsOf({ videos: 3 }) };
  const video = { videos: 1, seconds: 5, USD: 0.75 };

  it.each<[CapAccount, Taken, string]>([
    [day, { videos: 3 }, 'the daily cap of 3 videos is reached'],
    [
      { scope: 'key', name: 'web_shop', limits: limitsOf({ videos: 1 }) },
      { videos: 1 },
      'the daily cap of 1 video for the gateway key web_shop is reached',
    ],
    [
      { scope: 'batch', limits: limitsOf({ seconds: 20 }) },
      { seconds: 19 },
      'the cap of 20 seconds for this batch has 1 second left, and this video takes 5 seconds',
    ],
    [
      { scope: 'job', limits: limitsOf({ money: usd(1) }) },
      { USD: 0.5 },
      'the cap of 1.00 USD for this job has 0.50 USD left, and this video takes 0.75 USD',
    ],
  ])('%j after %j is described', (account, taken, sentence) => {
    expect(capRefusal(account, taken, video)?.message).toBe(sentence);
    const resetting = capRefusal(account, taken, video, resetsAt);
    expect(resetting?.message).toBe(`${sentence}; it resets at ${resetsAt}`);
  });

  it.each<[CapAccount, string | undefined]>([
    // The general one.
    [day, undefined],
    [
      { scope: 'batch', limits: limitsOf({ videos: 0 }) },
      'Raise the cap of the batch, and start it again under the same name.',
    ],
    [
      { scope: 'job', limits: limitsOf({ seconds: 4 }) },
      'Raise the cap of the job, in its input or in the caps of the worker, or ask for a shorter or cheaper video.',
    ],
  ])('with %j says what to do', (account, advice) => {
    expect(capRefusal(account, { videos: 3 }, video)?.advice).toBe(advice);
  });

  it('has details that name the limit, what is left and when it resets, if it does', () => {
    const daily = capRefusal(day, { videos: 3 }, video, resetsAt);
    expect(daily).toMatchObject({ cap: 'day.videos', capLeft: 0, capResetsAt: resetsAt });
    const ofJob = capRefusal({ scope: 'job', limits: limitsOf({ seconds: 4 }) }, {}, video);
    expect(ofJob).toMatchObject({ cap: 'job.seconds', capLeft: 4 });
    expect(ofJob).not.toHaveProperty('capResetsAt');
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
