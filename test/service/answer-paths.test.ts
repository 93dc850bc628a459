import { randomUUID } from 'node:crypto';
import { bodiesOf, leavesOf, parseJson, valuesAt, valuesIn } from '../../src/service/answer-paths';

const at = (root: unknown, path: string) =>
  [...valuesIn(bodiesOf(root, []), [path])].map(({ value, path }) => ({ value, path }));

describe('a path', () => {
  it('leads to its value, also when it was never used before', () => {
    const key = randomUUID();
    expect(at({ [key]: { url: 'x' } }, `${key}.url`)).toEqual([{ value: 'x', path: `${key}.url` }]);
  });

  it('with [] leads to each entry of a list, which may be in a text', () => {
    const entries = [{ value: 'x', path: 'videos[0].url' }];
    expect(at({ videos: [{ url: 'x' }] }, 'videos[].url')).toEqual(entries);
    expect(at({ videos: '[{"url":"x"}]' }, 'videos[].url')).toEqual(entries);
  });

  it('with [] leads to the value itself where there is no list', () => {
    expect(at({ output: 'x' }, 'output[]')).toEqual([{ value: 'x', path: 'output' }]);
  });

  it('leads through an object in a text, and leaves the text at its end as it is', () => {
    const result = '{"url":"x"}';
    expect(at({ result }, 'result.url')).toEqual([{ value: 'x', path: 'result.url' }]);
    expect(at({ result }, 'result')).toEqual([{ value: result, path: 'result' }]);
  });

  it('leads nowhere in a list, a text or nothing', () => {
    for (const root of [['x'], 'x', null, undefined, 5]) expect(at(root, 'length')).toEqual([]);
    expect([...valuesAt({ value: { a: 'b' }, path: '' }, 'a.length')]).toEqual([]);
  });
});

describe('the values of an answer that say something', () => {
  it('are texts, numbers and true, with their paths', () => {
    const answer = {
      none: null,
      missing: undefined,
      empty: '',
      no: false,
      zero: 0,
      in: { list: [true, 'x'] },
    };
    expect(leavesOf(answer)).toEqual([
      { value: 0, path: 'zero' },
      { value: true, path: 'in.list[0]' },
      { value: 'x', path: 'in.list[1]' },
    ]);
  });

  it('are searched twelve levels deep: what is below counts as one', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'x' : { a: nested(levels - 1) });
    const path = Array(12).fill('a').join('.');
    expect(leavesOf(nested(12))).toEqual([{ value: 'x', path }]);
    expect(leavesOf(nested(14))).toEqual([{ value: { a: { a: 'x' } }, path }]);
  });
});

describe('JSON', () => {
  it.each(['"[a"', 'see {"a":1}', '5', 'null', '', 'x [1]'])(
    'other than an object or a list is none: %j',
    (text) => {
      expect(parseJson(text)).toBeUndefined();
    },
  );

  it.each([
    ['an integer that is too long for a number is a text', '[1234567890123456789]', ['1234567890123456789']],
    ['with zeros too', '[12345678901234500000]', ['12345678901234500000']],
    ['of 16 digits too', '[1234567890123456]', ['1234567890123456']],
    ['of 15 digits it is a number', '[123456789012345]', [123456789012345]],
    [
      'before a text too',
      '{"id":1234567890123456789,"status":"queued"}',
      { id: '1234567890123456789', status: 'queued' },
    ],
    [
      'between texts too, and in a text it stays as it is',
      '["11111111111111111111",1234567890123456789,"22222222222222222222"]',
      ['11111111111111111111', '1234567890123456789', '22222222222222222222'],
    ],
    ['a negative one is a number', '[-1234567890123456789]', [-1234567890123456789n].map(Number)],
    ['a fraction is a number', '[1234567890123456.5]', [1234567890123456.5]],
    ['digits after a point are a number', '[0.0000000000000001]', [1e-16]],
    ['one with an exponent is a number', '[1234567890123456e2]', [1234567890123456e2]],
  ])('%s: %s', (_what, text, value) => {
    expect(parseJson(text)).toEqual(value);
  });
});
