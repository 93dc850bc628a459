import { pinChoice } from '../../src/client/pin-choice';
import { parseJobInput } from '../../src/contract/job-input';

const list = { services: { fal: { requestFields: ['loop'] }, veo: {} }, default: 'fal' };

test('a job that names no service gets the default', () => {
  expect(pinChoice({}, list)).toEqual({ ok: true, choice: { service: 'fal' }, known: list.services.fal });
});

test('a job may name its service', () => {
  const choice = { service: 'veo' };
  expect(pinChoice(choice, list)).toStrictEqual({ ok: true, choice, known: {} });
});

test('without a list the choice is as it was given, and without a default the worker chooses', () => {
  for (const choice of [{}, { service: 'any' }, { services: ['any', 'other'] }])
    expect(pinChoice(choice, undefined)).toStrictEqual({ ok: true, choice });
  expect(pinChoice({}, { services: list.services })).toEqual({ ok: true, choice: {} });
});

test.each([
  [{ service: 'fall' }, 'service is fall, which is not known: name one of fal, veo'],
  [{ service: 'fal,veo' }, 'service is fal,veo, which is not known: name one of fal, veo'],
  [{ service: 'constructor' }, 'service is constructor, which is not known'],
])('%j is refused with what to do', (given, problem) => {
  expect(pinChoice(given, list)).toMatchObject({
    ok: false,
    field: 'service',
    problem: expect.stringContaining(problem),
  });
});

test('the input of every job is refused if its service cannot be a name', () => {
  expect(parseJobInput({ request: { prompt: 'A red fox' }, service: 'two words' })).toMatchObject({
    ok: false,
  });
});

test('several services are kept as they are, and the first is the one that is known', () => {
  const choice = { services: ['veo', 'fal'] };
  expect(pinChoice(choice, list)).toStrictEqual({ ok: true, choice, known: list.services.veo });
});

test('several services are refused for any that is not known', () => {
  for (const services of [
    ['fal', 'fall'],
    ['fall', 'fal'],
  ])
    expect(pinChoice({ services }, list)).toEqual({
      ok: false,
      field: 'services',
      problem: 'service is fall, which is not known: name one of fal, veo',
    });
});
