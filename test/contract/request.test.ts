import {
  ASPECT_RATIOS,
  MAX_DURATION_SECONDS,
  parseRequest,
  RESOLUTIONS,
  requestSchema,
} from '../../src/contract/request';

const PROMPT = 'A red fox in the snow';
const FIELDS = 'prompt, image_url, resolution, aspect_ratio, duration, seed';

function problemOf(request: unknown): string {
  const parsed = parseRequest(request);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.request)}`);
  return parsed.problem;
}

describe('a request that the interface allows', () => {
  it.each([
    { prompt: PROMPT },
    { prompt: ' unchanged, with its spaces\nand lines ' },
    { prompt: PROMPT, image_url: 'https://example.com/fox.png?size=2#top' },
    { prompt: PROMPT, image_url: 'http://localhost:8080/fox.png' },
    { prompt: PROMPT, image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    { prompt: PROMPT, resolution: '480p' },
    { prompt: PROMPT, resolution: '720p' },
    { prompt: PROMPT, resolution: '1080p' },
    { prompt: PROMPT, aspect_ratio: '16:9' },
    { prompt: PROMPT, aspect_ratio: '9:16' },
    { prompt: PROMPT, aspect_ratio: '4:3' },
    { prompt: PROMPT, aspect_ratio: '3:4' },
    { prompt: PROMPT, aspect_ratio: '21:9' },
    { prompt: PROMPT, aspect_ratio: '1:1' },
    { prompt: PROMPT, duration: 1 },
    { prompt: PROMPT, duration: 10 },
    { prompt: PROMPT, seed: 0 },
    { prompt: PROMPT, seed: 4294967295 },
    {
      prompt: PROMPT,
      image_url: 'https://example.com/fox.png',
      resolution: '1080p',
      aspect_ratio: '21:9',
      duration: 10,
      seed: 42,
    },
  ])('passes unchanged: %j', (request) => {
    expect(parseRequest(request)).toEqual({ ok: true, request });
  });

  it('may hold optional fields that are undefined', () => {
    expect(parseRequest({ prompt: PROMPT, seed: undefined }).ok).toBe(true);
  });

  it('has the fields and limits of the interface, no more and no fewer', () => {
    expect(Object.keys(requestSchema.shape).join(', ')).toBe(FIELDS);
    expect(RESOLUTIONS).toEqual(['480p', '720p', '1080p']);
    expect(ASPECT_RATIOS).toEqual(['16:9', '9:16', '4:3', '3:4', '21:9', '1:1']);
    expect(MAX_DURATION_SECONDS).toBe(10);
  });
});

describe('a rule that the interface does not state', () => {
  it.each([
    ['a shortest duration', { duration: 0 }],
    ['a positive duration', { duration: -1 }],
    ['a longest prompt', { prompt: 'x'.repeat(1_000_000) }],
    ['a shortest prompt', { prompt: 'x' }],
    ['a seed of zero and up', { seed: -7 }],
    ['an https image', { image_url: 'ftp://example.com/fox.tiff' }],
  ])('is not invented: %s', (_rule, fields) => {
    const request = { prompt: PROMPT, ...fields };
    expect(parseRequest(request)).toEqual({ ok: true, request });
  });
});

describe('a field that is wrong', () => {
  const oneResolution = 'resolution must be one of 480p, 720p, 1080p';
  const wholeSeed = 'seed must be a whole number of at most 9007199254740991';
  const oneRatio = 'aspect_ratio must be one of 16:9, 9:16, 4:3, 3:4, 21:9, 1:1';

  it.each([
    ['prompt', undefined, 'prompt is missing'],
    ['prompt', '', 'prompt must not be empty (was "")'],
    ['prompt', ' \n\t', 'prompt must not be empty (was " \\n\\t")'],
    ['prompt', 5, 'prompt must be a string (was 5)'],
    ['prompt', null, 'prompt must be a string (was null)'],
    ['prompt', ['a', 'fox'], 'prompt must be a string (was a list)'],
    ['prompt', { text: 'a fox' }, 'prompt must be a string (was an object)'],
    ['image_url', 'fox.png', 'image_url must be a URL (was "fox.png")'],
    ['image_url', '//example.com/fox.png', 'image_url must be a URL (was "//example.com/fox.png")'],
    ['image_url', '', 'image_url must be a URL (was "")'],
    ['image_url', 5, 'image_url must be a URL (was 5)'],
    ['image_url', null, 'image_url must be a URL (was null)'],
    ['resolution', '4k', `${oneResolution} (was "4k")`],
    ['resolution', '720P', `${oneResolution} (was "720P")`],
    ['resolution', '360p', `${oneResolution} (was "360p")`],
    ['resolution', 720, `${oneResolution} (was 720)`],
    ['resolution', null, `${oneResolution} (was null)`],
    ['aspect_ratio', '16:10', `${oneRatio} (was "16:10")`],
    ['aspect_ratio', '9:21', `${oneRatio} (was "9:21")`],
    ['aspect_ratio', '16/9', `${oneRatio} (was "16/9")`],
    ['aspect_ratio', null, `${oneRatio} (was null)`],
    ['duration', 11, 'duration must be at most 10 (was 11)'],
    ['duration', 2.5, 'duration must be a whole number (was 2.5)'],
    ['duration', '5', 'duration must be a whole number (was "5")'],
    ['duration', null, 'duration must be a whole number (was null)'],
    ['duration', Number.NaN, 'duration must be a whole number (was NaN)'],
    ['seed', 1.5, `${wholeSeed} (was 1.5)`],
    ['seed', 'x', `${wholeSeed} (was "x")`],
    ['seed', true, `${wholeSeed} (was true)`],
    ['seed', null, `${wholeSeed} (was null)`],
    ['seed', 7n, `${wholeSeed} (was 7)`],
    ['seed', 2 ** 53, `${wholeSeed} (was 9007199254740992)`],
    ['seed', -(2 ** 53), `${wholeSeed} (was -9007199254740992)`],
  ])('%s %p is described by the rule and the value', (field, value, problem) => {
    expect(problemOf({ prompt: PROMPT, [field]: value })).toBe(problem);
  });

  it('is shortened when it is long', () => {
    expect(problemOf({ prompt: PROMPT, resolution: '7'.repeat(10_000) }).length).toBeLessThan(130);
  });

  it('is described, not thrown, when it cannot be written as JSON', () => {
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    const broken = { toJSON: () => circle.missing, toString: 5 };
    for (const value of [circle, broken, Symbol('s'), () => 1, Object.create(null)]) {
      expect(problemOf({ prompt: value })).toMatch(/^prompt must be a string \(was .+\)$/s);
    }
  });
});

describe('the field of a request that is wrong first', () => {
  it.each<[unknown, string | undefined]>([
    [{ prompt: PROMPT, duration: 11, seed: 'x' }, 'duration'],
    [{}, 'prompt'],
    [{ prompt: PROMPT, foo: 1, bar: 2 }, 'foo'],
    [{ prompt: PROMPT, ['x'.repeat(200)]: 1 }, `${'x'.repeat(99)}…`],
    [[], undefined],
    ['a fox', undefined],
  ])('of %j is %s', (request, field) => {
    const parsed = parseRequest(request);
    expect(parsed).toMatchObject({ ok: false });
    expect('field' in parsed && parsed.field).toBe(field);
  });
});

describe('what is not a request at all', () => {
  it.each([[undefined], [null], ['a fox'], [''], [5], [true], [[]], [[{ prompt: PROMPT }]], [() => PROMPT]])(
    'is refused: %p',
    (request) => {
      expect(problemOf(request)).toBe('the request must be a JSON object with a prompt');
    },
  );

  it('is an empty object without a prompt', () => {
    expect(problemOf({})).toBe('prompt is missing');
  });
});

describe('a field that the request does not have', () => {
  it.each(['aspectRatio', 'promt', 'foo', 'model', 'x', '', '_', '质量', 'constructor'])(
    '%p is named with the list of fields',
    (name) => {
      expect(problemOf({ prompt: PROMPT, [name]: 'x' })).toBe(
        `${JSON.stringify(name)}: not a field of the request; the fields are ${FIELDS}`,
      );
    },
  );

  it('is refused even if it is __proto__', () => {
    expect(problemOf(JSON.parse(`{"prompt":"x","__proto__":{"seed":1}}`))).toMatch(
      /^"__proto__": not a field/,
    );
  });
});

describe('several mistakes', () => {
  it('are named in one line', () => {
    expect(problemOf({ promt: 'x', resolution: '4k', duration: 11, seed: 'x' })).toBe(
      'prompt is missing; resolution must be one of 480p, 720p, 1080p (was "4k"); ' +
        'duration must be at most 10 (was 11); ' +
        'seed must be a whole number of at most 9007199254740991 (was "x"); ' +
        `"promt": not a field of the request; the fields are ${FIELDS}`,
    );
  });

  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_${index}`, index]));

  it('are all named up to twenty unknown fields, and then counted', () => {
    expect(problemOf(fields(20))).toMatch(/, "field_18", "field_19": not a field of the request; [^;]+$/);
    expect(problemOf(fields(22))).toMatch(/, "field_19" and 2 more: not a field of the request; [^;]+$/);
  });

  it('stay short, however many there are', () => {
    const problem = problemOf(fields(5_000));
    expect(problem).toMatch(/^prompt is missing; "field_0", .+ and 4980 more: not a field of the request/);
    expect(problem.length).toBeLessThan(1_000);
  });
});
