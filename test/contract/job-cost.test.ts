import { describeCost, type JobCost, knownCost, readCost, withEstimate } from '../../src/contract/job-cost';

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
])('%j is described as %s', (cost, described) => {
  expect(describeCost(cost)).toBe(described);
});

test('what was charged wins over the estimate, and both are kept', () => {
  const cost = withEstimate({ charged: CHARGED }, { cost: ESTIMATED, seconds: 5 });
  expect(cost).toEqual({ estimated: ESTIMATED, charged: CHARGED });
  expect(knownCost(cost)).toEqual(CHARGED);
  expect(knownCost(withEstimate(undefined, { unknown: 'why' }))).toBeUndefined();
  expect(knownCost(undefined)).toBeUndefined();
});

test('a cost is read back as it was written, and what is no cost is left out', () => {
  const cost = { estimated: ESTIMATED, charged: CHARGED };
  expect(readCost(JSON.parse(JSON.stringify(cost)))).toEqual(cost);
  expect(readCost({ estimated: { amount: 'many', currency: 'USD' }, charged: CHARGED })).toEqual({
    charged: CHARGED,
  });
  expect(readCost({ unknown: `why\u001b[31m${'y'.repeat(10_000)}` })?.unknown).toMatch(/^why[^\u001b]{1,210}$/);
  for (const nothing of [undefined, null, 7, 'free', [], {}, { charged: -1 }])
    expect(readCost(nothing)).toBeUndefined();
});
