import { expectedTimesOf, servicePollingOf } from '../../activities/service-polling';

test('a service without rules of its own has none for the workflow', () => {
  expect(servicePollingOf()).toStrictEqual({});
  expect(servicePollingOf({})).toStrictEqual({});
});

test('the intervals and the expected times of the profile are in milliseconds', () => {
  const polling = { min: '2s', max: '1m', usually: { median: '30s', slow: '2m' } };
  expect(servicePollingOf({ polling })).toStrictEqual({
    servicePolling: { min: 2_000, max: 60_000, usually: { median: 30_000, slow: 120_000 } },
  });
});

test('how many polls to save is the worker’s setting, or else that of the profile', () => {
  const polling = { pollsPerSecondSaved: 3 };
  const saved = (pollsPerSecondSaved: number) => ({
    servicePolling: { min: undefined, max: undefined, pollsPerSecondSaved },
  });
  expect(servicePollingOf({ polling })).toStrictEqual(saved(3));
  expect(servicePollingOf({ polling }, 5)).toStrictEqual(saved(5));
  expect(servicePollingOf({}, 5)).toStrictEqual(saved(5));
});

test.each([{ median: '30s' }, { slow: '2m' }, {}, undefined])(
  'nothing is expected of a service that says only %j',
  (usually) => {
    expect(expectedTimesOf({ usually } as object)).toBeUndefined();
  },
);
