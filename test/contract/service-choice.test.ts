import { choiceProblem, isServiceList, isServiceName, servicesOf } from '../../src/contract/service-choice';

test.each([
  [{}, []],
  [{ service: null, services: null }, []],
  [{ service: 'fal' }, ['fal']],
  [{ services: ['veo', 'fal'] }, ['veo', 'fal']],
])('a job with %j may use %j', (options, all) => {
  expect(servicesOf(options)).toStrictEqual(all);
});

test.each([[['fal']], [['a', 'b', 'c', 'd', 'e']]])('%j is a list of services', (value) => {
  expect(isServiceList(value)).toBe(true);
});

test.each([[[]], [['a', 'b', 'c', 'd', 'e', 'f']], [['a', 'a']], [['a', 'two words']], ['fal'], [null]])(
  '%j is no list of services',
  (value) => {
    expect(isServiceList(value)).toBe(false);
  },
);

test.each([
  [{}, undefined],
  [{ service: 'fal' }, undefined],
  [{ services: ['fal'], fallbackAfter: '1m' }, undefined],
  [{ services: ['fal'], service: 'veo' }, 'either service or services'],
  [{ services: ['fal'], taskId: 'task-1' }, 'a task has one service'],
  [{ fallbackAfter: '1m' }, 'fallbackAfter needs services'],
])('what is wrong with the choice %j: %s', (options, problem) => {
  expect(choiceProblem(options)).toEqual(
    problem === undefined ? undefined : expect.stringContaining(problem),
  );
});

test.each([['fal'], ['a.b_c-1']])('a service may be named %j', (value) => {
  expect(isServiceName(value)).toBe(true);
});

test.each([['two words'], ['-fal'], [''], [5], [null], [{ name: 'fal' }]])(
  '%j is not the name of a service',
  (value) => {
    expect(isServiceName(value)).toBe(false);
  },
);
