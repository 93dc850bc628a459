import {
  choiceOf,
  choiceProblem,
  choicesOf,
  isServiceList,
  readChoice,
  sentTo,
} from '../../src/contract/service-choice';

test.each([
  [{}, undefined, []],
  [{ service: null, serviceKey: null, services: null }, undefined, []],
  [{ service: 'fal' }, { name: 'fal' }, [{ name: 'fal' }]],
  [{ service: 'fal', serviceKey: 'main' }, { name: 'fal', key: 'main' }, [{ name: 'fal', key: 'main' }]],
  [{ services: ['veo', 'fal'] }, { name: 'veo' }, [{ name: 'veo' }, { name: 'fal' }]],
])('a job with %j uses %j first, and may use %j', (options, first, all) => {
  expect(choiceOf(options)).toStrictEqual(first);
  expect(choicesOf(options)).toStrictEqual(all);
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
  [{ service: 'fal', serviceKey: 'main' }, undefined],
  [{ services: ['fal'], fallbackAfter: '1m' }, undefined],
  [{ serviceKey: 'main' }, 'name the service too'],
  [{ services: ['fal'], service: 'veo' }, 'either service or services'],
  [{ services: ['fal'], serviceKey: 'main' }, 'each of several services uses its own key'],
  [{ services: ['fal'], taskId: 'task-1' }, 'a task to adopt has one service'],
  [{ fallbackAfter: '1m' }, 'fallbackAfter goes with services'],
])('what is wrong with the choice %j: %s', (options, problem) => {
  expect(choiceProblem(options)).toEqual(
    problem === undefined ? undefined : expect.stringContaining(problem),
  );
});

test('a request without a choice was sent to the service that has no name', () => {
  expect(sentTo(undefined)).toStrictEqual({});
  expect(sentTo({ name: 'fal' })).toStrictEqual({ service: { name: 'fal' } });
});

test.each([
  [
    { name: 'fal', key: 'main', more: 1 },
    { name: 'fal', key: 'main' },
  ],
  [{ name: 'fal' }, { name: 'fal' }],
  [{ name: 'fal', key: 'two words' }, { name: 'fal' }],
  [{ key: 'main' }, undefined],
  [{ name: 5 }, undefined],
  ['fal', undefined],
  [null, undefined],
])('the stored choice %j is read as %j', (value, choice) => {
  expect(readChoice(value)).toStrictEqual(choice);
});
