import { parseJobInput } from '../../src/contract/job-input';
import { type GivenChoice, type KnownServices, pinChoice } from '../../src/contract/service-choice';

const list = { services: { fal: { requestFields: ['loop'] }, veo: {} }, default: 'fal' };

const pinned = (given: GivenChoice, known: KnownServices | undefined = list) =>
  pinChoice(given, known, (problem, field) => Object.assign(new Error(problem), { field }));

test('a job that names no service gets the default', () => {
  expect(pinned({})).toEqual({ choice: { service: 'fal' }, known: list.services.fal });
});

test('a job may name its service', () => {
  const choice = { service: 'veo' };
  expect(pinned(choice)).toStrictEqual({ choice, known: {} });
});

test('without a list the choice is as it was given, and without a default the worker chooses', () => {
  for (const choice of [{}, { service: 'any' }, { services: ['any', 'other'] }])
    expect(pinChoice(choice, undefined, Error)).toStrictEqual({ choice });
  expect(pinned({}, { services: list.services })).toEqual({ choice: {} });
});

test.each([
  [{ service: 'fall' }, 'the service fall is not known: name one of fal, veo'],
  [{ service: 'fal,veo' }, 'the service fal,veo is not known: name one of fal, veo'],
  [{ service: 'constructor' }, 'the service constructor is not known'],
])('%j is refused with what to do', (given, problem) => {
  expect(() => pinned(given)).toThrow(
    expect.objectContaining({ field: 'service', message: expect.stringContaining(problem) }),
  );
});

test('the input of every job is refused if its service cannot be a name', () => {
  expect(parseJobInput({ request: { prompt: 'A red fox' }, service: 'two words' })).toMatchObject({
    ok: false,
  });
});

test('several services are kept as they are, and the first is the one that is known', () => {
  const choice = { services: ['veo', 'fal'] };
  expect(pinned(choice)).toStrictEqual({ choice, known: list.services.veo });
});

test('several services are refused for any that is not known', () => {
  for (const services of [
    ['fal', 'fall'],
    ['fall', 'fal'],
  ])
    expect(() => pinned({ services })).toThrow(
      expect.objectContaining({
        field: 'services',
        message: 'the service fall is not known: name one of fal, veo',
      }),
    );
});
