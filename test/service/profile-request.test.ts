import { parseProfile } from '../../src/service/parse-profile';

const problemsOf = (request: object, requestFields: string[] = []) => {
  const parsed = parseProfile({ request, requestFields });
  return parsed.ok ? [] : parsed.problem.split('; ');
};
describe('the request of a profile may have', () => {
  it.each<[string, object]>([
    ['a place of 200 characters', { fields: { seed: { to: 'x'.repeat(200) } } }],
    ['the name of a field that is not taken', { fields: { seed: { to: null }, prompt: { to: 'seed' } } }],
    [
      'the name of the image, where there is none',
      { textToVideo: { fields: { prompt: { to: 'image_url' } } } },
    ],
  ])('%s', (_what, request) => {
    expect(problemsOf(request)).toEqual([]);
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
      'request names promt, which is not a field of a request: add it to requestFields, or correct it',
    ],
    [
      { fields: { seed: { to: null, values: { 1: 1 } } } },
      'request.fields.seed must have nothing but to: null',
    ],
    [{ fields: { seed: { to: null, as: '{value}' } } }, 'request.fields.seed must have nothing but to: null'],
    [
      { textToVideo: { fields: { prompt: { to: 'seed' } } } },
      'request sends two values to seed, one of them seed',
    ],
    [
      { imageToVideo: { fields: { prompt: { to: 'image_url' } } } },
      'request sends two values to image_url, one of them image_url',
    ],
  ])('with %j: %s', (request, problem) => {
    expect(problemsOf(request)).toEqual([problem]);
  });

  it('for each thing next to to: null', () => {
    expect(problemsOf({ fields: { resolution: { to: null, with: ['aspect_ratio'] } } })).toEqual([
      'request.fields.resolution must have values, because it has with',
      'request.fields.resolution must have nothing but to: null',
    ]);
  });
});
