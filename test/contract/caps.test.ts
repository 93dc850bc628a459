import {
  type Cap,
  capDetails,
  capOfKey,
  dayEndsAt,
  dayOf,
  describeCap,
  describeReached,
  firstReached,
  isMoney,
  isSeconds,
  isVideoCount,
  leftOf,
  limits,
  NOTHING_TAKEN,
  type ReachedCap,
  strictest,
  type Taken,
  takeMore,
  takenOf,
  takenTogether,
  unknownUnder,
  type VideoTakes,
} from '../../src/contract/caps';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });
/** As SDKs of other languages send an unset field. */
const withNulls = (cap: Record<string, unknown>): Cap => cap;

describe('a limit', () => {
  it.each([0, 1, 1_000_000_000])('of %p videos is one', (value) => {
    expect(isVideoCount(value)).toBe(true);
  });

  it.each([-1, 0.5, 1_000_000_001, '3', Number.NaN, null, undefined])('of %p videos is none', (value) => {
    expect(isVideoCount(value)).toBe(false);
  });

  it.each([0, 0.5, 1_000_000_000])('of %p seconds is one', (value) => {
    expect(isSeconds(value)).toBe(true);
  });

  it.each([-0.5, 1_000_000_000.5, '5', Number.NaN, Number.POSITIVE_INFINITY, null])(
    'of %p seconds is none',
    (value) => {
      expect(isSeconds(value)).toBe(false);
    },
  );

  it('of money has an amount and a currency', () => {
    expect(isMoney(usd(2.5))).toBe(true);
    expect(isMoney({ amount: 2.5 })).toBe(false);
  });

  it.each<[Cap]>([[{ videos: 0 }], [{ seconds: 5 }], [{ money: usd(1) }]])('is in %j', (cap) => {
    expect(limits(cap)).toBe(true);
  });

  it.each([[undefined], [null], [{}], [withNulls({ videos: null, seconds: null, money: null })]])(
    'is not in %j',
    (cap) => {
      expect(limits(cap)).toBe(false);
    },
  );
});

describe('of two caps', () => {
  const cap = { videos: 3 };

  it('the one that limits anything holds', () => {
    for (const nothing of [undefined, null, {}]) {
      expect(strictest(nothing, cap)).toBe(cap);
      expect(strictest(cap, nothing)).toBe(cap);
    }
    expect(strictest(undefined, null)).toBeUndefined();
  });

  it('the lower limit of each unit holds, and one that only one of them has', () => {
    expect(strictest({ videos: 3, seconds: 20 }, { videos: 5, seconds: 10 })).toEqual({
      videos: 3,
      seconds: 10,
    });
    expect(strictest({ videos: 3 }, { seconds: 10 })).toEqual({ videos: 3, seconds: 10 });
    expect(strictest({ seconds: 10 }, { videos: 3 })).toEqual({ videos: 3, seconds: 10 });
    expect(strictest({ videos: 0 }, { videos: 3 })).toEqual({ videos: 0 });
  });

  it.each<[Cap, Cap, Cap['money']]>([
    [{ money: usd(2) }, { money: usd(1) }, usd(1)],
    [{ money: usd(1) }, { money: usd(2) }, usd(1)],
    [{ money: usd(2) }, { videos: 1 }, usd(2)],
    [{ videos: 1 }, { money: usd(2) }, usd(2)],
    [{ money: usd(2) }, { money: eur(1) }, usd(2)],
    [{ money: usd(1) }, { money: eur(2) }, usd(1)],
  ])('%j and %j, the money is %j', (first, second, money) => {
    expect(strictest(first, second)?.money).toEqual(money);
  });

  it('a limit that neither sets is absent, also where an SDK sent null', () => {
    const nulls = { seconds: null, money: null };
    expect(strictest(withNulls({ videos: 3, ...nulls }), withNulls({ videos: 2, ...nulls }))).toEqual({
      videos: 2,
    });
  });
});

it('a gateway key has its own cap if it is named, else that of each key', () => {
  const [key, own] = [{ videos: 3 }, { videos: 9 }];
  expect(capOfKey({ key, keys: { shop: own } }, 'shop')).toBe(own);
  expect(capOfKey({ key, keys: { shop: own } }, 'blog')).toBe(key);
  expect(capOfKey({ key, keys: { shop: own } }, 'constructor')).toBe(key);
  expect(capOfKey({ key }, 'shop')).toBe(key);
});

describe('what is taken', () => {
  it('grows by each video, its seconds and its cost', () => {
    const one = takeMore(NOTHING_TAKEN, { seconds: 5, cost: usd(0.25) });
    expect(one).toEqual({ videos: 1, ms: 5_000, money: { USD: 250_000 } });
    expect(takeMore(one, { seconds: 2.5, cost: usd(0.5) }, 2)).toEqual({
      videos: 3,
      ms: 10_000,
      money: { USD: 1_250_000 },
    });
    expect(takeMore(one, { cost: eur(1) }).money).toEqual({ USD: 250_000, EUR: 1_000_000 });
  });

  it('counts a video of unknown length and cost as a video', () => {
    expect(takeMore(NOTHING_TAKEN, {})).toEqual({ videos: 1, ms: 0, money: {} });
  });

  it('rounds seconds up to thousandths, but not for an error in the last digit', () => {
    expect(takeMore(NOTHING_TAKEN, { seconds: 0.0001 }).ms).toBe(1);
    expect(takeMore(NOTHING_TAKEN, { seconds: 4.1 }).ms).toBe(4_100);
    expect(takeMore(NOTHING_TAKEN, { seconds: 0.1 + 0.2 }).ms).toBe(300);
  });

  it('is what was used and what is reserved, in each currency', () => {
    const used = { videos: 1, ms: 5_000, money: { USD: 10, EUR: 1 } };
    const reserved = { videos: 2, ms: 7_000, money: { USD: 5, credits: 3 } };
    expect(takenTogether(used, reserved)).toEqual({
      videos: 3,
      ms: 12_000,
      money: { USD: 15, EUR: 1, credits: 3 },
    });
  });

  it('is said in videos, seconds and units of the currency', () => {
    const taken = { videos: 2, ms: 7_500, money: { USD: 1_250_000 } };
    expect(takenOf(taken, 'videos')).toBe(2);
    expect(takenOf(taken, 'seconds')).toBe(7.5);
    expect(takenOf(taken, 'money', 'USD')).toBe(1.25);
    expect(takenOf(taken, 'money', 'EUR')).toBe(0);
    expect(takenOf(taken, 'money')).toBe(0);
  });
});

describe('a video', () => {
  const taken: Taken = { videos: 2, ms: 12_000, money: { USD: 1_000_000 } };
  const video: VideoTakes = { seconds: 5, cost: usd(0.5) };

  it.each<[Cap]>([
    [{}],
    [{ videos: 3 }],
    [{ seconds: 17 }],
    [{ money: usd(1.5) }],
    [{ money: eur(0.5) }],
    [{ videos: 3, seconds: 17, money: usd(1.5) }],
    [withNulls({ videos: null, seconds: null, money: null })],
  ])('is allowed by %j, up to the last of it', (cap) => {
    expect(firstReached(cap, taken, video)).toBeUndefined();
  });

  it.each<[Cap, ReturnType<typeof firstReached>]>([
    [{ videos: 2 }, { unit: 'videos', limit: 2, left: 0, takes: 1 }],
    [{ videos: 1 }, { unit: 'videos', limit: 1, left: 0, takes: 1 }],
    [{ seconds: 16.999 }, { unit: 'seconds', limit: 16.999, left: 4.999, takes: 5 }],
    [{ seconds: 10 }, { unit: 'seconds', limit: 10, left: 0, takes: 5 }],
    [
      { money: usd(1.499999) },
      { unit: 'money', limit: 1.499999, left: 0.499999, takes: 0.5, currency: 'USD' },
    ],
    [{ money: usd(0.5) }, { unit: 'money', limit: 0.5, left: 0, takes: 0.5, currency: 'USD' }],
    [{ money: eur(0.4) }, { unit: 'money', limit: 0.4, left: 0.4, takes: 0.5, currency: 'EUR' }],
    [
      { videos: 9, seconds: 16, money: usd(1) },
      { unit: 'seconds', limit: 16, left: 4, takes: 5 },
    ],
  ])('is not allowed by %j', (cap, reached) => {
    expect(firstReached(cap, taken, video)).toEqual(reached);
  });

  it('that says neither its length nor its cost takes nothing of them', () => {
    expect(firstReached({ seconds: 12, money: usd(1) }, taken, {})).toBeUndefined();
  });

  it('must say its length under a cap of seconds', () => {
    const why = 'the duration of the video is not known: the request has none';
    expect(unknownUnder({ seconds: 5 }, { cost: usd(1) })).toEqual({ unit: 'seconds', why });
    expect(unknownUnder({ seconds: 5 }, { seconds: 5 })).toBeUndefined();
    expect(unknownUnder({ videos: 1 }, {})).toBeUndefined();
  });

  it('must have a cost in the currency of a cap of money', () => {
    const under = (known: Parameters<typeof unknownUnder>[1]) => unknownUnder({ money: usd(5) }, known);
    const why = 'the cost of the video is not known:';
    expect(under({ cost: usd(1) })).toBeUndefined();
    expect(under({})).toEqual({ unit: 'money', why: `${why} it has no price` });
    expect(under({ whyUnknown: 'no size' })).toEqual({ unit: 'money', why: `${why} no size` });
    expect(under({ cost: eur(1) })).toEqual({
      unit: 'money',
      why: 'the cost of the video is in EUR and the cap in USD',
    });
  });
});

describe('a cap that is reached', () => {
  const resetsAt = '2026-11-18T00:00:00.000Z';
  const daily: ReachedCap = { scope: 'day', unit: 'videos', limit: 3, left: 0, takes: 1, resetsAt };

  it.each<[ReachedCap, string]>([
    [daily, `the daily cap of 3 videos is reached; it resets at ${resetsAt}`],
    [
      { scope: 'key', name: 'web_shop', unit: 'videos', limit: 1, left: 0, takes: 1 },
      'the daily cap of 1 video for the gateway key web_shop is reached',
    ],
    [
      { scope: 'batch', unit: 'seconds', limit: 20, left: 1, takes: 5 },
      'the cap of 20 seconds for this batch has 1 second left, and this video takes 5 seconds',
    ],
    [
      { scope: 'batch', unit: 'seconds', limit: 20, left: 0, takes: 5 },
      'the cap of 20 seconds for this batch is reached',
    ],
    [
      { scope: 'job', unit: 'money', limit: 1, left: 0.5, takes: 0.75, currency: 'USD' },
      'the cap of 1.00 USD for this job has 0.50 USD left, and this video takes 0.75 USD',
    ],
  ])('%j is described', (reached, sentence) => {
    expect(describeReached(reached)).toBe(sentence);
  });

  it('has details that name the limit, what is left and when it resets', () => {
    expect(capDetails(daily)).toEqual({
      message: describeReached(daily),
      cap: 'day.videos',
      capLeft: 0,
      capResetsAt: resetsAt,
    });
  });

  it('has no time in its details if it never resets', () => {
    const reached: ReachedCap = { scope: 'job', unit: 'seconds', limit: 4, left: 4, takes: 5 };
    expect(capDetails(reached)).toStrictEqual({
      message: describeReached(reached),
      cap: 'job.seconds',
      capLeft: 4,
    });
  });

  it('is named alone too', () => {
    expect(describeCap({ scope: 'day', unit: 'money', limit: 2.5, currency: 'USD' })).toBe(
      'the daily cap of 2.50 USD',
    );
  });
});

it('a day is one of UTC, and ends when the next begins', () => {
  expect(dayOf(Date.parse('2026-12-31T23:59:59.999Z'))).toBe('2026-12-31');
  expect(dayEndsAt('2026-12-31')).toBe('2027-01-01T00:00:00.000Z');
});

describe('what is left of a cap', () => {
  const cap = { videos: 5, seconds: 20.5, money: usd(2) };
  const used = { videos: 1, ms: 5_000, money: { USD: 300_000 } };
  const reserved = { videos: 2, ms: 2_500, money: { USD: 200_000 } };

  it('is its limit without what is used and reserved', () => {
    expect(leftOf(cap, 'videos', used, reserved)).toStrictEqual({ limit: 5, left: 2 });
    expect(leftOf(cap, 'seconds', used, reserved)).toStrictEqual({ limit: 20.5, left: 13 });
    expect(leftOf(cap, 'money', used, reserved)).toStrictEqual({ limit: 2, left: 1.5, currency: 'USD' });
  });

  it('is nothing when more was taken, and when there is no such limit', () => {
    expect(leftOf({ videos: 2 }, 'videos', used, reserved)).toEqual({ limit: 2, left: 0 });
    expect(leftOf({}, 'seconds', used, reserved)).toEqual({ limit: 0, left: 0 });
    expect(leftOf({}, 'money', used, reserved)).toEqual({ limit: 0, left: 0 });
  });
});
