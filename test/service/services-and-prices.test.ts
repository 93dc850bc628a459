import {
  type Estimate,
  estimateCost,
  estimateJob,
  namedServicesProblem,
  type Prices,
  RateLimiters,
  ServiceDirectory,
  servicesForClients,
  type VideoService,
} from '../../src/service';

const PRICES: Prices = {
  currency: 'USD',
  table: [
    { operation: 'text-to-video', resolution: '720p', perSecond: 0.1 },
    { operation: 'image-to-video', perSecond: 0.2, perVideo: 0.05 },
    { resolution: '480p', perVideo: 0.3 },
  ],
};
const usd = (amount: number) => ({ amount, currency: 'USD' });
const IMAGE = 'https://example.com/fox.png';

test.each<[what: string, request: Parameters<typeof estimateCost>[1], estimate: Estimate]>([
  ['by the second', { resolution: '720p', duration: 5 }, { estimated: usd(0.5), seconds: 5 }],
  ['by the first row that fits', { image_url: IMAGE, duration: 4 }, { estimated: usd(0.85), seconds: 4 }],
  ['by the video', { resolution: '480p' }, { estimated: usd(0.3) }],
  [
    'unknown without a row',
    { resolution: '1080p', duration: 5 },
    { unknown: 'prices.table of the profile has no row for text-to-video at "1080p"', seconds: 5 },
  ],
  [
    'unknown without a duration',
    { resolution: '720p' },
    { unknown: 'the request has no duration, and prices.defaults of the profile has none' },
  ],
  [
    'unknown when the service chooses the duration',
    { resolution: '720p', duration: -1 },
    { unknown: 'with a duration of -1 the service chooses it' },
  ],
])('the estimate is %s', (_what, request, estimate) => {
  expect(estimateCost(PRICES, request)).toEqual(estimate);
});

test('what a request does not say is taken from the defaults', () => {
  const prices = { ...PRICES, defaults: { duration: 8, resolution: '720p' } };
  expect(estimateCost(prices, {})).toEqual({ estimated: usd(0.8), seconds: 8 });
  expect(estimateCost(prices, { duration: 2 })).toEqual({ estimated: usd(0.2), seconds: 2 });
  // A duration that the request leaves to the service is not the default one.
  expect(estimateCost(prices, { duration: -1 })).toHaveProperty('unknown');
});

test('without prices the cost is unknown, and zero only if the profile says so', () => {
  expect(estimateCost(undefined, { duration: 5 })).toEqual({
    unknown: 'the profile of the service has no prices',
    seconds: 5,
  });
  expect(estimateCost({ currency: 'USD', table: [{ perVideo: 0 }] }, {})).toEqual({ estimated: usd(0) });
});

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
  ['nothing, if its address is none', { service: { profile: {}, address: 'here' } }, undefined],
])(
  'the cost of a job names the service by %s',
  (_what, { name, service }: Parameters<typeof estimateJob>[0], paid) => {
    const profile = { ...service.profile, prices: PRICES };
    const cost = estimateJob({ name, service: { ...service, profile } }, { resolution: '480p' });
    expect(cost).toEqual({ estimated: usd(0.3), service: paid });
  },
);

/** Only told apart. */
const service = (address: string, requestFields: string[] = []): VideoService => ({
  address,
  profile: { requestFields },
  start: () => Promise.reject(new Error('not called')),
  status: () => Promise.reject(new Error('not called')),
  open: () => Promise.reject(new Error('not called')),
});

const unnamed = service('unnamed');
const plain = service('plain', ['model']);
const paced = service('paced');
const services = { plain, paced: { service: paced, submitsPerSecond: 2 } };

const foundIn = (found: ReturnType<ServiceDirectory['find']>) =>
  'problem' in found ? found.problem : found.service.address;

test('a service of a program that wraps another one is that service itself', () => {
  const wrapping = { ...service('wrapping'), service: plain };
  expect(foundIn(new ServiceDirectory({ services: { wrapping } }).find('wrapping'))).toBe('wrapping');
});

test('a default takes new jobs that name no service; tasks without a name stay where they were made', () => {
  const directory = new ServiceDirectory({ service: unnamed, services, defaultService: 'plain' });
  expect(foundIn(directory.find(directory.defaultService))).toBe('plain');
  expect(foundIn(directory.find())).toBe('unnamed');
  const onlyNamed = new ServiceDirectory({ services, defaultService: 'plain' });
  expect([foundIn(onlyNamed.find(onlyNamed.defaultService)), foundIn(onlyNamed.find())]).toEqual([
    'plain',
    'plain',
  ]);
  const noDefault = new ServiceDirectory({ service: unnamed, services });
  expect([foundIn(noDefault.find(noDefault.defaultService)), foundIn(noDefault.find())]).toEqual([
    'unnamed',
    'unnamed',
  ]);
});

test('each service has a rate limiter of its own, which several workers can share', () => {
  const rateLimiters = new RateLimiters();
  const [first, second] = [1, 2].map(() =>
    new ServiceDirectory({ services, rateLimiters }).all().map(({ rateLimiter }) => rateLimiter),
  );
  expect(new Set(first).size).toBe(2);
  expect(second?.every((limiter, index) => limiter === first?.[index])).toBe(true);
});

test.each([
  [{ services: { 'a b': plain } }, 'the name a b must be a name'],
  [{ services, defaultService: 'other' }, 'the default other is not among them'],
])('services of a program with a mistake are refused', (given, problem) => {
  expect(namedServicesProblem(given)).toContain(problem);
});

test('whoever starts jobs for the services of a program learns names and request fields', () => {
  expect(servicesForClients({ services, defaultService: 'plain' })).toEqual({
    default: 'plain',
    services: { plain: { requestFields: ['model'] }, paced: { requestFields: [] } },
  });
  expect(servicesForClients({})).toBeUndefined();
});
