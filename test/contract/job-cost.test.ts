import {
  chargesOf,
  describeBatchCost,
  describeCost,
  type JobCost,
  mergeCosts,
  readCost,
} from '../../src/contract/job-cost';

const [ESTIMATED, CHARGED] = [
  { amount: 0.4, currency: 'USD' },
  { amount: 0.5, currency: 'USD' },
];

test.each<[JobCost, string]>([
  [{ estimated: ESTIMATED }, '0.40 USD estimated'],
  [{ charged: CHARGED }, '0.50 USD charged'],
  [{ estimated: ESTIMATED, charged: CHARGED }, '0.50 USD charged (estimated 0.40 USD)'],
  [{ unknown: 'the request has no duration' }, 'unknown: the request has no duration'],
  [{}, 'unknown'],
  [
    { estimated: ESTIMATED, charged: CHARGED, lostSubmits: 1 },
    '0.50 USD charged (estimated 0.40 USD), and a lost submit may have cost 0.40 USD more',
  ],
  [
    { estimated: ESTIMATED, lostSubmits: 2 },
    '0.40 USD estimated, and 2 lost submits may have cost 0.80 USD more',
  ],
  [{ lostSubmits: 1 }, 'unknown, and a lost submit may have cost more'],
])('%j is described as %s', (cost, described) => {
  expect(describeCost(cost)).toBe(described);
});

test('what was charged wins over the estimate, and both are kept', () => {
  const cost = mergeCosts({ estimated: ESTIMATED, service: 'Ark' }, { charged: CHARGED });
  expect(cost).toEqual({ estimated: ESTIMATED, charged: CHARGED, service: 'Ark' });
  expect(chargesOf(cost)).toEqual([CHARGED]);
  expect(chargesOf({ unknown: 'why' })).toEqual([undefined]);
  expect(chargesOf(undefined)).toEqual([undefined]);
});

test('each lost submit that was repeated may have cost the estimate, whatever the task was charged', () => {
  expect(chargesOf({ estimated: ESTIMATED, charged: CHARGED, lostSubmits: 2 })).toEqual([
    CHARGED,
    ESTIMATED,
    ESTIMATED,
  ]);
  expect(chargesOf({ charged: CHARGED, lostSubmits: 1 })).toEqual([CHARGED, undefined]);
});

test('a job without a task may have paid for each of its lost submits, and has one at least', () => {
  expect(chargesOf({ estimated: ESTIMATED, lostSubmits: 2 }, false)).toEqual([ESTIMATED, ESTIMATED]);
  expect(chargesOf({ estimated: ESTIMATED }, false)).toEqual([ESTIMATED]);
  expect(chargesOf(undefined, false)).toEqual([undefined]);
});

test('an estimate ends that the cost is unknown', () => {
  expect(mergeCosts({ unknown: 'why' }, { estimated: ESTIMATED })).toEqual({ estimated: ESTIMATED });
  expect(mergeCosts({ unknown: 'why' }, { charged: CHARGED })).toEqual({ unknown: 'why', charged: CHARGED });
});

test('of two reports of a cost, one that is missing changes nothing', () => {
  const cost = { unknown: 'why' };
  expect(mergeCosts(cost, undefined)).toBe(cost);
  expect(mergeCosts(undefined, cost)).toBe(cost);
  expect(mergeCosts(undefined, undefined)).toBeUndefined();
  expect(mergeCosts({ charged: CHARGED }, {})).toStrictEqual({ charged: CHARGED });
});

test('the cost of a batch says what was spent, and of how much', () => {
  const [spent, estimated] = [
    { sums: [ESTIMATED], unknown: 1 },
    { sums: [CHARGED], unknown: 0 },
  ];
  expect(describeBatchCost({ spent, estimated })).toBe('0.40 USD + 1 of unknown cost (estimated 0.50 USD)');
  expect(describeBatchCost({ estimated })).toBe('estimated 0.50 USD');
  expect(describeBatchCost({})).toBe('unknown');
});

test('a cost is read back as it was written, and what is no cost is left out', () => {
  for (const cost of [
    { estimated: ESTIMATED, charged: CHARGED },
    { charged: CHARGED },
    { charged: CHARGED, unknown: 'why', service: 'Ark' },
    { lostSubmits: 2 },
  ])
    expect(readCost(JSON.parse(JSON.stringify(cost)))).toStrictEqual(cost);
  expect(readCost({ estimated: ESTIMATED, unknown: 'why' })).toEqual({ estimated: ESTIMATED });
  expect(readCost({ estimated: { amount: 'many', currency: 'USD' }, charged: CHARGED })).toEqual({
    charged: CHARGED,
  });
  const shown = readCost({ unknown: `why\u001b[31m${'y'.repeat(10_000)}` })?.unknown;
  expect(shown?.length).toBeLessThan(210);
  expect(shown).not.toContain('\u001b');
  for (const nothing of [undefined, null, 7, 'free', [], {}, { charged: -1 }, { lostSubmits: 1e9 }])
    expect(readCost(nothing)).toBeUndefined();
});
