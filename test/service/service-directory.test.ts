import type { VideoService } from '../../src/service';
import { namedServicesProblem, RateLimiters, ServiceDirectory, servicesForClients } from '../../src/service';

/** Only told apart. */
const service = (address: string, requestFields: string[] = []): VideoService => ({
  address,
  profile: { requestFields },
  submit: () => Promise.reject(new Error('not called')),
  poll: () => Promise.reject(new Error('not called')),
  openVideo: () => Promise.reject(new Error('not called')),
  cancel: () => Promise.reject(new Error('not called')),
  close: async () => undefined,
});

const unnamed = service('unnamed');
const plain = service('plain', ['model']);
const [newer, older] = [service('newer'), service('older')];
const services = { plain, keyed: { key: 'newer', keys: { older, newer }, submitsPerSecond: 2 } };

const foundIn = (found: ReturnType<ServiceDirectory['find']>) =>
  'problem' in found ? found.problem : found.service.address;

test('a job finds its service by name, and stays with the key that it began with', () => {
  const directory = new ServiceDirectory({ services });
  expect(foundIn(directory.find({ name: 'plain' }))).toBe('plain');
  expect(foundIn(directory.find({ name: 'keyed' }))).toBe('newer');
  expect(foundIn(directory.find({ name: 'keyed', key: 'older' }))).toBe('older');
  expect(directory.find({ name: 'keyed', key: 'older' })).toMatchObject({
    choice: { name: 'keyed', key: 'older' },
    submitsPerSecond: 2,
  });
});

test('an unknown service or key is refused with a sentence that says what to do', () => {
  const directory = new ServiceDirectory({ services });
  expect(foundIn(directory.find({ name: 'palin' }))).toBe(
    'this worker has no service palin: name one of plain, keyed',
  );
  expect(foundIn(directory.find({ name: 'keyed', key: 'gone' }))).toBe(
    'this worker has no key gone for the service keyed: give it that key again, beside the one for new jobs',
  );
  expect(foundIn(directory.findForNew())).toBe(
    'the job names no service, and this worker has no default: name one of plain, keyed',
  );
  expect(foundIn(new ServiceDirectory({ service: unnamed }).find({ name: 'plain' }))).toBe(
    'this worker has no service plain: it has no named services',
  );
});

test('a default takes new jobs that name no service; tasks without a name stay where they were made', () => {
  const directory = new ServiceDirectory({ service: unnamed, services, defaultService: 'plain' });
  expect(foundIn(directory.findForNew())).toBe('plain');
  expect(foundIn(directory.find())).toBe('unnamed');
  const onlyNamed = new ServiceDirectory({ services, defaultService: 'plain' });
  expect([foundIn(onlyNamed.findForNew()), foundIn(onlyNamed.find())]).toEqual(['plain', 'plain']);
  const noDefault = new ServiceDirectory({ service: unnamed, services });
  expect([foundIn(noDefault.findForNew()), foundIn(noDefault.find())]).toEqual(['unnamed', 'unnamed']);
});

test('each service and key has a rate limiter of its own, which several workers can share', () => {
  const rateLimiters = new RateLimiters();
  const [first, second] = [1, 2].map(() => new ServiceDirectory({ services, rateLimiters }));
  const choices = [{ name: 'plain' }, { name: 'keyed' }, { name: 'keyed', key: 'older' }];
  const limitersOf = (directory?: ServiceDirectory) =>
    choices.map((choice) => {
      const found = directory?.find(choice);
      return found && 'rateLimiter' in found ? found.rateLimiter : undefined;
    });
  expect(new Set(limitersOf(first)).size).toBe(3);
  const [ofFirst, ofSecond] = [limitersOf(first), limitersOf(second)];
  expect(ofSecond.every((limiter, index) => limiter === ofFirst[index])).toBe(true);
});

test('the queues of submits are those of each service, with the key for new jobs', () => {
  const current = new ServiceDirectory({ service: unnamed, services }).current();
  expect(current.map(({ choice }) => choice)).toEqual([{ name: 'plain' }, { name: 'keyed', key: 'newer' }]);
});

test.each([
  [{ services: { 'a b': plain } }, 'the name a b must be a name'],
  [{ services: { one: { key: 'x', keys: { y: plain } } } }, 'one has no key x'],
  [{ services: { one: { key: 'x y', keys: { 'x y': plain } } } }, 'the name of a key of one must be a name'],
  [{ services, defaultService: 'other' }, 'the default other is not among them'],
])('services of a program with a mistake are refused', (given, problem) => {
  expect(namedServicesProblem(given)).toContain(problem);
});

test('whoever starts jobs for the services of a program learns names, keys by name and request fields', () => {
  expect(servicesForClients({ services, defaultService: 'plain' })).toEqual({
    default: 'plain',
    services: {
      plain: { requestFields: ['model'] },
      keyed: { keys: ['newer', 'older'], requestFields: [] },
    },
  });
  expect(servicesForClients({})).toBeUndefined();
});
