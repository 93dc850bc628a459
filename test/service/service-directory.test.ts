import type { VideoService } from '../../src/service';
import { namedServicesProblem, RateLimiters, ServiceDirectory, servicesForClients } from '../../src/service';

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

test('a job finds its service by name', () => {
  const directory = new ServiceDirectory({ services });
  expect(foundIn(directory.find('plain'))).toBe('plain');
  expect(directory.find('paced')).toMatchObject({ name: 'paced', service: paced, submitsPerSecond: 2 });
});

test('a service of a program that wraps another one is that service itself', () => {
  const wrapping = { ...service('wrapping'), service: plain };
  expect(foundIn(new ServiceDirectory({ services: { wrapping } }).find('wrapping'))).toBe('wrapping');
});

test('an unknown service is refused with a sentence that says what to do', () => {
  const directory = new ServiceDirectory({ services });
  expect(foundIn(directory.find('palin'))).toBe('this worker has no service palin: name one of plain, paced');
  expect(foundIn(directory.find(directory.defaultService))).toBe(
    'the job names no service, and this worker has no default: name one of plain, paced',
  );
  expect(foundIn(new ServiceDirectory({ service: unnamed }).find('plain'))).toBe(
    'this worker has no service plain: it has no named services',
  );
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

test('the queues of submits are those of each service', () => {
  const all = new ServiceDirectory({ service: unnamed, services }).all();
  expect(all.map(({ name }) => name)).toEqual(['plain', 'paced']);
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
