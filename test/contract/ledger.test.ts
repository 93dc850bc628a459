import { accountsOf, type Caps, dayOf } from '../../src/contract/caps';
import { jsonBytes } from '../../src/contract/sizes';

const [videos] = [(limit: number) => [{ unit: 'videos', limit }]];

test.each<[string, Caps, Parameters<typeof accountsOf>[1], object[]]>([
  ['the day', { day: { videos: 3 } }, {}, [{ scope: 'day', limits: videos(3) }]],
  ['nothing without a limit', { job: { videos: 3 }, day: {} }, { caller: 'shop' }, []],
  [
    'each key',
    { key: { videos: 3 } },
    { caller: 'shop' },
    [{ scope: 'key', name: 'shop', limits: videos(3) }],
  ],
  [
    'a key that is named',
    { key: { videos: 3 }, keys: { shop: { videos: 9 } } },
    { caller: 'shop' },
    [{ scope: 'key', name: 'shop', limits: videos(9) }],
  ],
  [
    'a key that has the name of a method',
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
])('a job is counted under the limits of %s', (_what, caps, job, accounts) => {
  expect(accountsOf(caps, job)).toEqual(accounts);
});

describe('the name under which a batch is counted', () => {
  const nameOf = (name: string) => accountsOf({}, { sharedCap: { name, cap: { videos: 1 } } })[0]?.name;

  it('is that of the batch if it is short', () => {
    for (const name of ['red foxes', 'Füchse/2', '狐'.repeat(32), 'x'.repeat(98)])
      expect(nameOf(name)).toBe(name);
  });

  it('is short, and different for different batches', () => {
    const names = ['a', 'b'].flatMap((end) => ['x', '狐', '"', '\u0001'].map((one) => one.repeat(299) + end));
    expect(new Set(names.map(nameOf)).size).toBe(names.length);
    for (const name of names) expect(jsonBytes(nameOf(name))).toBeLessThanOrEqual(202);
  });
});

test('a day is one of UTC', () => {
  expect(dayOf(Date.parse('2026-12-31T23:59:59.999Z'))).toBe('2026-12-31');
});
