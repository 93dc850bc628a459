import { placeProblems, RequestBody, stepsOf } from '../../src/service/request-places';

const problemsOf = (...places: string[]) =>
  placeProblems(places.map((place) => ({ place, of: `v-${place}` })));

it.each([
  ['prompt', ['prompt']],
  ['input.prompt', ['input', 'prompt']],
  ['instances[0].prompt', ['instances', 0, 'prompt']],
  ['a.b[12]', ['a', 'b', 12]],
])('the steps to %s are %j', (place, steps) => {
  expect(stepsOf(place)).toEqual(steps);
});

describe('values can be in one body', () => {
  it.each([[['a', 'b']], [['a.b', 'a.c']], [['a[1]', 'a[0]']], [['a[0].b', 'a[0].c', 'a[1]']]])(
    'at %j',
    (places) => {
      expect(problemsOf(...places)).toEqual([]);
    },
  );

  it.each([
    ['a', 'a'],
    ['a', 'a.b'],
    ['a.b', 'a'],
    ['a[0]', 'a'],
    ['a[0]', 'a.b'],
    ['a.b', 'a[0]'],
    ['a[0].b', 'a[0]'],
  ])('but not at %s and %s', (one, other) => {
    expect(problemsOf(one, other)).toEqual([
      `sends two values to one place: v-${other} goes to ${other}, and v-${one} to ${one}: both cannot be there`,
    ]);
  });

  it.each([
    [['a[1]'], 'a[0]'],
    [['a[0]', 'a[2]'], 'a[1]'],
    [['a[2]', 'a[0]'], 'a[1]'],
    [['a[0].b.c[1]'], 'a[0].b.c[0]'],
  ])('but not with a gap in a list: %j', (places, missing) => {
    expect(problemsOf(...places)).toEqual([
      `leaves a gap in a list: ${missing} is missing: lists are filled from [0] on`,
    ]);
  });
});

describe('a body', () => {
  const bodyOf = (values: Record<string, unknown>) => {
    const body = new RequestBody();
    for (const [place, value] of Object.entries(values)) body.put(stepsOf(place), value);
    return JSON.stringify(body.toJson());
  };

  it('without values is an empty object', () => {
    expect(bodyOf({})).toBe('{}');
  });

  it('has the entries of a list by their index, in whatever order they were put', () => {
    expect(bodyOf({ 'a[10]': 'c', 'a[2]': 'b', 'a[0].x': 1, 'a[0].y': 2 })).toBe(
      '{"a":[{"x":1,"y":2},"b","c"]}',
    );
  });

  it('has keys that are digits as keys', () => {
    expect(bodyOf({ 'a.0': 'x', 'a.1': 'y' })).toBe('{"a":{"0":"x","1":"y"}}');
  });
});
