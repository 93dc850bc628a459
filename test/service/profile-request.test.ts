import { parseProfile } from '../../src/service/profile';

const problemsOf = (request: object, requestFields: string[] = []) => {
  const parsed = parseProfile({ request, requestFields });
  return parsed.ok ? [] : parsed.problem.split('; ');
};
const manyKeys = <T>(count: number, value: T) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a[${index}]`, index]));

describe('the request of a profile may have', () => {
  it.each<[string, object]>([
    ['a place of ten steps', { fields: { seed: { to: 'a.b.c.d.e.f.g.h.i.j' } } }],
    ['a place of 200 characters', { fields: { seed: { to: 'x'.repeat(200) } } }],
    ['a list of 21 entries', { constants: entries(20), fields: { seed: { to: 'a[20]' } } }],
    ['200 constants', { constants: manyKeys(200, 1) }],
    ['200 values', { fields: { seed: { values: manyKeys(200, 1) } } }],
    ['the name of a field that is not taken', { fields: { seed: { to: null }, prompt: { to: 'seed' } } }],
    [
      'the name of the image, where there is none',
      { textToVideo: { fields: { prompt: { to: 'image_url' } } } },
    ],
  ])('%s', (_what, request) => {
    expect(problemsOf(request)).toEqual([]);
  });

  it('100 fields', () => {
    const names = Object.keys(manyKeys(101, {}));
    expect(problemsOf({ fields: manyKeys(100, { as: '{value}' }) }, names)).toEqual([]);
    expect(problemsOf({ fields: manyKeys(101, { as: '{value}' }) }, names)).toEqual([
      'request.fields must have at most 100 fields',
    ]);
  });

  it.each(['a.b', 'a b', 'a.b c', '[a', 'a]'])('the field %j of the profile, which is one key', (name) => {
    const fields = { prompt: { to: 'a.b' }, seed: { to: 'c' }, duration: { to: 'b' } };
    expect(problemsOf({ fields }, [name])).toEqual([]);
  });
});

describe('the request of a profile is refused', () => {
  it.each<[object, string]>([
    [
      { imageToVideo: { fields: { promt: {} } } },
      'request.imageToVideo.fields.promt names promt, which is not a field of a request: add it to requestFields, or correct it',
    ],
    [
      { fields: { seed: { to: null, values: { 1: 1 } } } },
      'request.fields.seed must have nothing besides to: null',
    ],
    [
      { fields: { seed: { to: null, as: '{value}' } } },
      'request.fields.seed must have nothing besides to: null',
    ],
    [
      { textToVideo: { fields: { prompt: { to: 'seed' } } } },
      'request sends two values to one place: seed goes to seed, and prompt to seed: both cannot be there (textToVideo)',
    ],
    [
      { imageToVideo: { fields: { prompt: { to: 'image_url' } } } },
      'request sends two values to one place: image_url goes to image_url, and prompt to image_url: both cannot be there (imageToVideo)',
    ],
  ])('with %j: %s', (request, problem) => {
    expect(problemsOf(request)).toEqual([problem]);
  });

  it('for each thing that is beside to: null', () => {
    expect(problemsOf({ fields: { resolution: { to: null, with: ['aspect_ratio'] } } })).toEqual([
      'request.fields.resolution must have values, because it has with',
      'request.fields.resolution must have nothing besides to: null',
    ]);
  });

  it('with the first five of its problems with places', () => {
    const names = Object.keys(manyKeys(9, {}));
    const fields = Object.fromEntries(names.map((name) => [name, { to: 'x' }]));
    expect(problemsOf({ fields }, names)).toHaveLength(5);
  });
});
