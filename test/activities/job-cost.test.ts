import { estimatedCost, serviceNameOf } from '../../activities/job-cost';

test.each([
  [
    'its name on the worker',
    { name: 'a', service: { profile: { name: 'Ark' }, address: 'https://ark.example' } },
    'a',
  ],
  [
    'the name in its profile',
    { service: { profile: { name: 'Ark' }, address: 'https://ark.example' } },
    'Ark',
  ],
  ['its host', { service: { profile: {}, address: 'https://ark.example/v1' } }, 'ark.example'],
  ['nothing, if it has no address', { service: {} }, undefined],
  ['nothing, if its address is none', { service: { address: 'here' } }, undefined],
])('a service is named by %s', (_what, found, name) => {
  expect(serviceNameOf(found)).toBe(name);
});

test('a service without prices has no estimate', () => {
  expect(estimatedCost({ service: { profile: { name: 'Ark' } } }, { prompt: 'x' })).toBeUndefined();
  expect(estimatedCost({ service: {} }, { prompt: 'x' })).toBeUndefined();
});
