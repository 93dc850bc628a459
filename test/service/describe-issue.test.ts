import { z } from 'zod';
import { describeIssue } from '../../src/service/describe-issue';

const describeAll = (schema: z.ZodType, given: unknown, whole?: string) => {
  const { error } = schema.safeParse(given);
  return (error?.issues ?? []).flatMap((issue) => describeIssue(issue, { schema, whole }));
};

it.each<[string, z.ZodType, unknown]>([
  ['must be of type number', z.number(), 'x'],
  ['must be one of a, b', z.enum(['a', 'b']), 'x'],
  ['must not be empty', z.string().min(1), ''],
  ['must have at least 2 characters', z.string().min(2), 'x'],
  ['must have at most 2 characters', z.string().max(2), 'xxx'],
  ['must have at least one entry', z.array(z.string()).min(1), []],
  ['must have at least 2 entries', z.array(z.string()).min(2), ['x']],
  ['must have at most 2 entries', z.array(z.string()).max(2), ['x', 'y', 'z']],
  ['must be at least 1', z.number().min(1), 0],
  ['must be more than 1', z.number().gt(1), 1],
  ['must be at most 2', z.number().max(2), 3],
  ['must be less than 2', z.number().lt(2), 2],
  ['is wrong', z.string().max(2, 'is wrong'), 'xxx'],
  ['is wrong. Too big: really', z.string().max(2, 'is wrong. Too big: really'), 'xxx'],
  ['Too big: really', z.string().refine(() => false, 'Too big: really'), 'x'],
])('a problem is told in the words of a reader: it %s', (problem, schema, given) => {
  expect(describeAll(schema, given, 'the file')).toEqual([`the file ${problem}`]);
  expect(describeAll(z.object({ a: z.array(schema) }), { a: [given] })).toEqual([`a.0 ${problem}`]);
});

it('each unknown key is named with its path', () => {
  expect(describeAll(z.object({ a: z.strictObject({}) }), { a: { b: 1, c: 2 } })).toEqual([
    'a.b is not known',
    'a.c is not known',
  ]);
  expect(describeAll(z.object({ a: z.strictObject({ d: z.string().optional() }) }), { a: { b: 1 } })).toEqual(
    ['a.b is not known: a has d'],
  );
});

it('an example of the field is shown, also of one inside a list, a record or an alternative', () => {
  const path = z
    .string()
    .regex(/^\//, 'must begin with /')
    .meta({ examples: ['/v1'] });
  const schema = z.object({
    a: path.optional(),
    b: z.array(path),
    c: z.record(z.string(), z.union([z.number(), path])),
  });
  expect(describeAll(schema, { a: 'x', b: ['/', 5], c: { d: 'x' } })).toEqual([
    'a must begin with /, such as "/v1"',
    'b.1 must be of type string, such as "/v1"',
    'c.d must begin with /, such as "/v1"',
  ]);
});

describe('of several alternatives', () => {
  it('that with the fewest problems is described', () => {
    const schema = z.union([
      z.strictObject({ a: z.string(), b: z.string() }),
      z.strictObject({ c: z.string() }),
    ]);
    expect(describeAll(z.object({ x: schema }), { x: { c: 1 } })).toEqual(['x.c must be of type string']);
    expect(describeAll(schema, { c: 1 })).toEqual(['c must be of type string']);
  });

  it('that which fits furthest is described', () => {
    const schema = z.union([z.string(), z.array(z.string())]);
    expect(describeAll(schema, ['a', 5])).toEqual(['1 must be of type string']);
  });

  it('none is described if it is not clear which is meant', () => {
    const schema = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b') }),
    ]);
    expect(describeAll(z.object({ x: schema }), { x: { kind: 'c' } })).toEqual(['x.kind is not valid']);
    expect(describeAll(z.object({ x: schema }), { x: {} })).toEqual(['x.kind is not valid']);
  });
});

it('a problem of a key is told with the key', () => {
  const schema = z.record(z.string().regex(/^[a-z]+$/, 'must be small letters'), z.number());
  expect(describeAll(schema, { A1: 1 })).toEqual(['A1 must be small letters']);
});

it('what has no path is the profile', () => {
  expect(describeAll(z.object({}), 5)).toEqual(['the profile must be of type object']);
});
