import {
  addTaken,
  type Cap,
  capDetails,
  describeCap,
  describeUse,
  firstReached,
  isMoney,
  isSeconds,
  isVideoCount,
  limitsOf,
  NOTHING_TAKEN,
  type ReachedCap,
  type Taken,
  takenBy,
} from '../../src/contract/caps';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const eur = (amount: number) => ({ amount, currency: 'EUR' });
/** As SDKs of other languages send an unset field. */
const NULLS: Record<string, unknown> = { videos: null, seconds: null, money: null };

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

  it('is in each of several caps that set one', () => {
    expect(limitsOf({ videos: 0, money: usd(1) }, undefined, { seconds: 5 }, null)).toEqual([
      { unit: 'videos', limit: 0 },
      { unit: 'money', limit: 1, currency: 'USD' },
      { unit: 'seconds', limit: 5 },
    ]);
    expect(limitsOf({}, NULLS)).toEqual([]);
  });
});

describe('what is taken', () => {
  it('grows by each video, its seconds and its cost', () => {
    const one = takenBy({ seconds: 5, estimated: usd(0.25) });
    expect(one).toEqual({ videos: 1, ms: 5_000, money: { USD: 250_000 } });
    expect(addTaken(one, takenBy({ seconds: 2.5, estimated: usd(0.5) }), 2)).toEqual({
      videos: 3,
      ms: 10_000,
      money: { USD: 1_250_000 },
    });
    expect(addTaken(one, takenBy({ estimated: eur(1) })).money).toEqual({ USD: 250_000, EUR: 1_000_000 });
    expect(addTaken(one, one, -1)).toEqual({ videos: 0, ms: 0, money: { USD: 0 } });
  });

  it('counts a video of unknown length and cost as a video', () => {
    expect(addTaken(NOTHING_TAKEN, takenBy({}))).toEqual({ videos: 1, ms: 0, money: {} });
  });

  it('rounds seconds up to thousandths, but not for an error in the last digit', () => {
    expect(takenBy({ seconds: 0.0001 }).ms).toBe(1);
    expect(takenBy({ seconds: 4.1 }).ms).toBe(4_100);
    expect(takenBy({ seconds: 0.1 + 0.2 }).ms).toBe(300);
  });
});

describe('a video', () => {
  const taken: Taken = { videos: 2, ms: 12_000, money: { USD: 1_000_000 } };
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
    expect(firstReached(limitsOf(cap), taken, video)).toBeUndefined();
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
    [
      { videos: 9, seconds: 16, money: usd(1) },
      { unit: 'seconds', limit: 16, left: 4, takes: 5 },
    ],
  ])('is not allowed by %j', (cap, reached) => {
    expect(firstReached(limitsOf(cap), taken, video)).toEqual(reached);
  });

  it('that costs nothing is allowed by a cap that is reached, and one that takes something is not', () => {
    const [limit] = [limitsOf({ money: usd(1) })];
    expect(firstReached(limit, taken, takenBy({ estimated: usd(0) }))).toBeUndefined();
    expect(firstReached(limit, taken, takenBy({ estimated: usd(0.000001) }))).toMatchObject({ left: 0 });
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
      { scope: 'job', unit: 'money', limit: 1, left: 0.5, takes: 0.75, currency: 'USD' },
      'the cap of 1.00 USD for this job has 0.50 USD left, and this video takes 0.75 USD',
    ],
  ])('%j is described', (reached, sentence) => {
    expect(capDetails(reached).message).toBe(sentence);
  });

  it.each<[Partial<ReachedCap>, string]>([
    [
      {},
      'Nothing was paid. Start it again when the cap resets, or raise the cap: videogen caps shows what is left.',
    ],
    [{ scope: 'batch' }, 'Raise the cap of the batch, and start it again under the same name.'],
    [
      { scope: 'job', isOwn: true, unit: 'seconds', limit: 8 },
      "This job's own cap allows 8 seconds. Raise `cap`, or ask for a shorter video.",
    ],
    [
      { scope: 'job', unit: 'money', limit: 2, currency: 'USD' },
      'The worker allows each job 2.00 USD. Raise `job` in its caps, or ask for a cheaper video.',
    ],
  ])('with %j says what to do, and after a lost submit that a task may exist', (more, advice) => {
    expect(capDetails({ ...daily, ...more }).advice).toBe(advice);
    expect(capDetails({ ...daily, ...more }, 1).advice).toMatch(
      /^An earlier submit was lost, so a task may exist/,
    );
  });

  it('has details that name the limit, what is left and when it resets, if it does', () => {
    expect(capDetails(daily)).toMatchObject({ cap: 'day.videos', capLeft: 0, capResetsAt: resetsAt });
    const reached: ReachedCap = { scope: 'job', unit: 'seconds', limit: 4, left: 4, takes: 5 };
    expect(capDetails(reached)).not.toHaveProperty('capResetsAt');
  });

  it('is named alone too', () => {
    expect(describeCap({ scope: 'day', unit: 'money', limit: 2.5, currency: 'USD' })).toBe(
      'the daily cap of 2.50 USD',
    );
  });
});

it('what is left of a limit is without what is used and reserved, and never less than nothing', () => {
  const used = { videos: 1, ms: 5_000, money: { USD: 300_000 } };
  const reserved = { videos: 2, ms: 2_500, money: { USD: 200_000 } };
  const uses = limitsOf({ videos: 2, seconds: 20.5, money: usd(2) }).map((limit) =>
    describeUse(limit, used, reserved),
  );
  expect(uses).toEqual([
    { used: '1 video', reserved: '2 videos', left: '0 videos', isReached: true },
    { used: '5 seconds', reserved: '2.5 seconds', left: '13 seconds', isReached: false },
    { used: '0.30 USD', reserved: '0.20 USD', left: '1.50 USD', isReached: false },
  ]);
  expect(describeUse({ unit: 'money', limit: 1, currency: 'EUR' }, used, reserved).left).toBe('1.00 EUR');
});
