import { parseJobInput } from '../../src/contract';
import { pinChoice, pinServices } from '../../src/contract/known-services';

const list = { services: { fal: { keys: ['main', 'older'] }, veo: {} }, default: 'fal' };

test('a job that names no service gets the default and the name of its key', () => {
  expect(pinChoice({}, list)).toEqual({
    ok: true,
    choice: { service: 'fal', serviceKey: 'main' },
    known: list.services.fal,
  });
});

test('a job may name its service and one of its keys; a service without keys pins none', () => {
  const older = { service: 'fal', serviceKey: 'older' };
  expect(pinChoice(older, list)).toMatchObject({ choice: older });
  expect(pinChoice({ service: 'veo' }, list)).toStrictEqual({
    ok: true,
    choice: { service: 'veo' },
    known: {},
  });
});

test('without a list the choice is as it was given, and without a default the worker chooses', () => {
  for (const choice of [{}, { service: 'any' }, { service: 'any', serviceKey: 'main' }])
    expect(pinChoice(choice, undefined)).toStrictEqual({ ok: true, choice });
  expect(pinChoice({}, { services: list.services })).toEqual({ ok: true, choice: {} });
});

test.each([
  [{ service: 'fall' }, 'service is fall, which is not known: name one of fal, veo'],
  [{ service: '' }, 'service must be a name of 1 to 64 letters'],
  [{ service: 'fal,veo' }, 'service must be a name of 1 to 64 letters'],
  [{ service: 'constructor' }, 'service is constructor, which is not known'],
  [{ service: 'fal', serviceKey: 'x' }, 'serviceKey is x, which is no key of fal: name one of main, older'],
  [{ service: 'veo', serviceKey: 'x' }, 'which is no key of veo: leave it out'],
  [{ serviceKey: 'main' }, 'name the service too'],
])('%j is refused with what to do', (given, problem) => {
  expect(pinChoice(given, list)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
});

test('the key of a service that is not named is refused in the input of every job', () => {
  const request = { prompt: 'A red fox' };
  expect(parseJobInput({ request, serviceKey: 'main' })).toMatchObject({
    ok: false,
    problem: expect.stringContaining('name the service too'),
  });
  expect(parseJobInput({ request, service: 'fal', serviceKey: 'main' })).toMatchObject({ ok: true });
  expect(parseJobInput({ request, service: 'two words' })).toMatchObject({ ok: false });
});

test('of several services none is pinned, and the first is the one that is known', () => {
  const services = ['veo', 'fal'];
  expect(pinServices(services, list)).toStrictEqual({
    ok: true,
    choice: { services },
    known: list.services.veo,
  });
  expect(pinServices(services, undefined)).toStrictEqual({ ok: true, choice: { services } });
  expect(pinServices([], list)).toStrictEqual({ ok: true, choice: { services: [] } });
});

test('several services are refused for any that is not known', () => {
  for (const services of [
    ['fal', 'fall'],
    ['fall', 'fal'],
  ])
    expect(pinServices(services, list)).toEqual({
      ok: false,
      field: 'services',
      problem: 'service is fall, which is not known: name one of fal, veo',
    });
});
