import {
  ASPECT_RATIOS,
  MAX_DURATION_SECONDS,
  parseRequest,
  parseRequestLines,
  RESOLUTIONS,
  requestSchema,
} from '../../src/contract/request';
import {
  itemCountProblem,
  jsonBytes,
  LARGEST_REQUEST_BYTES,
  LARGEST_REQUESTS_FILE_BYTES,
  requestsFileProblem,
} from '../../src/contract/sizes';

const PROMPT = 'A red fox in the snow';
const FIELDS = 'prompt, image_url, resolution, aspect_ratio, duration, seed';

function problemOf(request: unknown, requestFields?: string[]): string {
  const parsed = parseRequest(request, requestFields);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.request)}`);
  return parsed.problem;
}

const withPrompt = (bytes: number, letter = 'x') => ({
  prompt: letter.repeat((bytes - jsonBytes({ prompt: '' })) / Buffer.byteLength(letter)),
});

describe('a request', () => {
  it.each<object>([
    { prompt: PROMPT },
    { prompt: ' unchanged, with its spaces\nand lines ' },
    { image_url: 'https://example.com/fox.png?size=2#top' },
    { image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    ...RESOLUTIONS.map((resolution) => ({ resolution })),
    ...ASPECT_RATIOS.map((aspect_ratio) => ({ aspect_ratio })),
    { duration: 10, seed: 4_294_967_295 },
    // Rules that the interface does not state are not invented: those are the service's.
    { duration: -1, seed: -7, image_url: 'ftp://example.com/fox.tiff' },
    { prompt: 'x'.repeat(1_000_000) },
  ])('passes unchanged: %j', (fields) => {
    const request = { prompt: PROMPT, ...fields };
    expect(parseRequest(request)).toEqual({ ok: true, request });
  });

  it('has the fields and limits of the interface, no more and no fewer', () => {
    expect(Object.keys(requestSchema.shape).join(', ')).toBe(FIELDS);
    expect(RESOLUTIONS).toEqual(['480p', '720p', '1080p']);
    expect(ASPECT_RATIOS).toEqual(['16:9', '9:16', '4:3', '3:4', '21:9', '1:1']);
    expect(MAX_DURATION_SECONDS).toBe(10);
  });

  const oneResolution = 'resolution must be one of 480p, 720p, 1080p';
  const wholeSeed = 'seed must be a whole number of at most 9007199254740991';
  const oneRatio = 'aspect_ratio must be one of 16:9, 9:16, 4:3, 3:4, 21:9, 1:1';
  it.each([
    ['prompt', undefined, 'prompt is missing'],
    ['prompt', ' \n\t', 'prompt must not be empty (was " \\n\\t")'],
    ['prompt', 5, 'prompt must be a string (was 5)'],
    ['prompt', ['a', 'fox'], 'prompt must be a string (was a list)'],
    ['image_url', '//example.com/fox.png', 'image_url must be a URL (was "//example.com/fox.png")'],
    ['resolution', '720P', `${oneResolution} (was "720P")`],
    ['aspect_ratio', '9:21', `${oneRatio} (was "9:21")`],
    ['duration', 11, 'duration must be at most 10 (was 11)'],
    ['duration', 2.5, 'duration must be a whole number (was 2.5)'],
    ['seed', 1.5, `${wholeSeed} (was 1.5)`],
    ['seed', 2 ** 53, `${wholeSeed} (was 9007199254740992)`],
  ])('whose %s is %p is refused by the rule, with the value', (field, value, problem) => {
    expect(problemOf({ prompt: PROMPT, [field]: value })).toBe(problem);
  });

  it.each<[unknown, string | undefined]>([
    [{ prompt: PROMPT, duration: 11, seed: 'x' }, 'duration'],
    [{}, 'prompt'],
    [{ prompt: PROMPT, foo: 1, bar: 2 }, 'foo'],
    [{ prompt: PROMPT, ['x'.repeat(200)]: 1 }, `${'x'.repeat(99)}…`],
    ['a fox', undefined],
  ])('that is %j has its first problem in the field %s', (request, field) => {
    const parsed = parseRequest(request);
    expect(parsed).toMatchObject({ ok: false });
    expect('field' in parsed && parsed.field).toBe(field);
  });

  it.each([[undefined], [null], ['a fox'], [5], [[]], [[{ prompt: PROMPT }]]])(
    'is an object, not %p',
    (request) => {
      expect(problemOf(request)).toBe('the request must be a JSON object with a prompt');
    },
  );

  it.each(['aspectRatio', 'promt', 'model', '', '质量', 'constructor'])(
    'that has %p is refused with the list of fields',
    (name) => {
      expect(problemOf({ prompt: PROMPT, [name]: 'x' })).toBe(
        `${JSON.stringify(name)}: not a field of the request; the fields are ${FIELDS}`,
      );
    },
  );

  it('with several mistakes is refused with all of them in one line', () => {
    expect(problemOf({ promt: 'x', resolution: '4k', duration: 11, seed: 'x' })).toBe(
      'prompt is missing; resolution must be one of 480p, 720p, 1080p (was "4k"); ' +
        'duration must be at most 10 (was 11); ' +
        'seed must be a whole number of at most 9007199254740991 (was "x"); ' +
        `"promt": not a field of the request; the fields are ${FIELDS}`,
    );
  });
});

describe('the size', () => {
  it('of a request has a limit, in bytes and not in characters', () => {
    const largest = withPrompt(LARGEST_REQUEST_BYTES);
    expect(jsonBytes(largest)).toBe(LARGEST_REQUEST_BYTES);
    expect(parseRequest(largest)).toEqual({ ok: true, request: largest });
    for (const letter of ['x', '狐'])
      expect(problemOf(withPrompt(LARGEST_REQUEST_BYTES + 3, letter))).toBe(
        'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: shorten it',
      );
    const image_url = `data:image/png;base64,${'A'.repeat(2_300_000)}`;
    expect(problemOf({ prompt: 'A fox', image_url })).toBe(
      'the request is 2.4 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link',
    );
  });

  it('of a file of requests has a limit, and so has their number', () => {
    expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES)).toBeUndefined();
    expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES + 1)).toBe(
      'the file is larger than 100.0 MB; split it into several batches',
    );
    expect(itemCountProblem(100_000)).toBeUndefined();
    expect(itemCountProblem(100_001)).toBe(
      'there are 100001 requests; a batch has at most 100000: split them into several batches',
    );
  });
});

describe('a file of requests', () => {
  const fox = { prompt: 'A red fox' };
  const owl = { prompt: 'An owl', duration: 5 };
  const [foxLine, owlLine] = [JSON.stringify(fox), JSON.stringify(owl)];

  function problemsOf(text: string, further?: string[]): string {
    const parsed = parseRequestLines(text, 'foxes.jsonl', further);
    if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.requests)}`);
    return parsed.problems.join('; ');
  }

  it.each([
    ['a line each', `${foxLine}\n${owlLine}\n`],
    ['blank lines and spaces', `\n \n  ${foxLine} \n\t\n\n${owlLine}\n\n`],
    ['Windows line ends', `${foxLine}\r\n\r\n${owlLine}\r\n`],
    ['a byte order mark', `\uFEFF${foxLine}\n${owlLine}\n`],
  ])('is read in order with %s', (_what, text) => {
    expect(parseRequestLines(text, 'x')).toEqual({ ok: true, requests: [fox, owl] });
  });

  it('may contain Unicode line separators and byte order marks inside a text, and extra fields of the service', () => {
    const requests = [{ prompt: 'one\u2028two\u2029three\u0085four\uFEFFfive', model: 'm1' }];
    const text = JSON.stringify(requests[0]);
    expect(parseRequestLines(text, 'x', ['model'])).toEqual({ ok: true, requests });
    expect(problemsOf(text)).toMatch(/^foxes\.jsonl:1: "model": not a field of the request/);
  });

  it.each(['', ' \r\n\t\n', '\uFEFF'])('without a request is refused: %j', (text) => {
    expect(problemsOf(text)).toBe('foxes.jsonl: there is no request in it');
  });

  it.each([
    ['{"prompt":', 'not a JSON object on one line'],
    [`${foxLine}${owlLine}`, 'not a JSON object on one line'],
  ])('is refused for the line %s, with its problem', (line, problem) => {
    expect(problemsOf(line)).toBe(`foxes.jsonl:1: ${problem}`);
  });

  it('is refused with its wrong lines, counted as editors do, with blank ones', () => {
    expect(problemsOf(`\uFEFF\n${foxLine}\r\n\r\nfox\n${owlLine}\n{}\n`)).toBe(
      'foxes.jsonl:4: not a JSON object on one line; foxes.jsonl:6: prompt is missing',
    );
  });

  it.each([
    [11, '; and 1 more'],
    [200, '; and 190 more'],
  ])('with %d wrong lines is refused with the first ten', (count, rest) => {
    const lines = Array.from({ length: 10 }, (_, index) => `foxes.jsonl:${index + 1}: prompt is missing`);
    expect(problemsOf(`${'{}\n'.repeat(count)}${foxLine}`)).toBe(`${lines.join('; ')}${rest}`);
  });
});
