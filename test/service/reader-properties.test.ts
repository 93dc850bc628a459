import { traceAnswer } from '../../src/service';
import { fc } from '../support/properties';

/** With keys that the reader knows, or it would find nothing. */
const key = fc.oneof(
  fc.constantFrom(
    ...['data', 'task', 'output', 'result', 'task_id', 'id', 'status', 'state', 'done', 'progress', 'error'],
    ...['code', 'message', 'video_url', 'url', 'videos', 'outputs', 'content', 'detail', '__proto__'],
  ),
  fc.string({ maxLength: 6 }),
);
const link = fc.oneof(
  fc.webUrl(),
  fc.constantFrom(
    ...['https://cdn.example.com/1.mp4', '/v/1.mp4', '//x/1.mp4', 'file:///1', 'javascript:alert(1)'],
    ...['/\t/[', '/\n//x'],
  ),
);
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 'running', 'succeeded', 'success', 'failed', '{', '[', '{"a":'),
  link,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'binary' }),
);
const { tree: json } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    // JSON in a string.
    tie('tree').map((value) => JSON.stringify(value)),
  ),
}));
/** Like a service's answer: without these, few answers would have a link. */
const task = fc.record(
  {
    ...{ task_id: scalar, status: scalar, error: json, code: scalar, message: json, progress: scalar },
    ...{ video_url: link, videos: fc.array(fc.record({ url: link })), output: fc.array(link), url: link },
  },
  { requiredKeys: [] },
);
const object = fc.oneof(fc.dictionary(key, json, { maxKeys: 8 }), task);

const RUNS = { numRuns: 200 };

test.each(['data', 'result', 'task', 'output'])('an answer within %s reads as it does alone', (holder) => {
  // A value in one of these objects is one level too deep inside another.
  const isFlat = (body: Record<string, unknown>) =>
    ['data', 'result', 'task', 'output'].every((name) => !Object.hasOwn(body, name));
  const read = (status: number, body: object) => {
    const { taskId, task, serviceMessage } = traceAnswer({ status, body: JSON.stringify(body) });
    return { taskId, task, serviceMessage };
  };
  fc.assert(
    fc.property(object.filter(isFlat), fc.constantFrom(200, 202, 404, 500), (body, status) => {
      const alone = read(status, body);
      expect(read(status, { [holder]: body })).toEqual(alone);
      expect(read(status, { [holder]: JSON.stringify(body) })).toEqual(alone);
    }),
    RUNS,
  );
});

describe('an id of any number of digits', () => {
  const digits = fc
    .integer({ min: 1, max: 60 })
    .chain((length) => fc.array(fc.integer({ min: 1, max: 9 }), { minLength: length, maxLength: length }))
    .map((list) => list.join(''));
  // Quotes, backslashes and digits in strings before it must not confuse the reader.
  const noise = fc.string({
    unit: fc.constantFrom('"', '\\', '1', '234567890123456789', ',', ':', 'é', '{'),
  });

  test('is read with every digit, as a number and as a text', () => {
    fc.assert(
      fc.property(digits, noise, noise, (id, before, after) => {
        const [first, last] = [before, after].map((text) => JSON.stringify(text));
        for (const written of [id, `"${id}"`]) {
          const body = `{"note":${first},"list":[1,-12345678901234567890,1.5e3,${id}],"task_id":${written},"more":${last}}`;
          expect(traceAnswer({ status: 200, body }).taskId).toBe(id);
        }
      }),
      RUNS,
    );
  });

  test.each([
    '-12345678901234567890',
    '12345678901234567890.5',
    '12345678901234567890e2',
    '1e12345678901234567',
  ])('is not read from %s, which is not an id', (number) => {
    expect(traceAnswer({ status: 200, body: `{"task_id":${number}}` }).taskId).toBeUndefined();
  });
});

describe('a value that is nested deeper than any service nests', () => {
  const nested = (depth: number, inner: string) =>
    '{"a":['.repeat(depth / 2) + inner + ']}'.repeat(depth / 2);

  test.each([10, 998, 1_002, 100_000])('does not stop the rest from being read, %d deep', (depth) => {
    for (const strange of ['{}', '"]}]}"', String.raw`"\"[[["`, '1234567890123456789']) {
      const body = `{"a":${nested(depth, strange)},"task_id":"t","b":${nested(depth, strange)},"status":"running"}`;
      expect(traceAnswer({ status: 200, body })).toMatchObject({ taskId: 't', task: { state: 'running' } });
    }
  });
});
