import { describeConflict, describeDifference, identityOf } from '../../src/contract/job-identity';
import { jsonBytes } from '../../src/contract/sizes';

const request = { prompt: 'A red fox', duration: 5 };

test.each([
  ['the same request', { request }, { request: { ...request } }],
  ['fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }],
  ['a field that is not set', { request }, { request: { ...request, seed: undefined }, taskId: undefined }],
  ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }],
])('%s means the same job', (_what, existing, given) => {
  expect(describeDifference(existing, given)).toBeUndefined();
});

test('long values are compared by their digests, on either side', () => {
  const long = { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
  const short = identityOf({ request: long });
  expect(short.request).toMatchObject(request);
  expect(jsonBytes(short)).toBeLessThan(500);
  expect(identityOf(short)).toEqual(short);
  const other = { ...long, image_url: `${long.image_url}A` };
  for (const existing of [short, { request: long }]) {
    expect(describeDifference(existing, { request: { ...long } })).toBeUndefined();
    expect(describeDifference(existing, identityOf({ request: long }))).toBeUndefined();
    expect(describeDifference(existing, { request: other })).toMatch(/^image_url/);
  }
});

test.each([
  ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration'],
  ['a missing value', { request }, { request: { prompt: 'A red fox' } }, 'duration'],
  ['an additional value', { request }, { request: { ...request, seed: 0 } }, 'seed'],
  ['text that looks like a number', { request: { prompt: '5' } }, { request: { prompt: '6' } }, 'prompt'],
  ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId'],
  [
    'a task in place of a request',
    { request: { prompt: 'A red fox' } },
    { taskId: 'task_1' },
    'prompt, taskId',
  ],
])('%s is named', (_what, existing, given, names) => {
  expect(describeDifference(existing, given)).toBe(names);
});

test('several differences are all named', () => {
  const given = { request: { prompt: 'A blue fox', duration: 10 } };
  expect(describeDifference({ request }, given)).toBe('prompt, duration');
});

test('only values of more than 200 characters as JSON become digests', () => {
  const identity = { request: { fits: 'x'.repeat(198), long: 'x'.repeat(199) } };
  expect(identityOf(identity).request).toEqual({
    fits: identity.request.fits,
    long: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
});

test.each<[string, object, object]>([
  ['a request', { request, deadline: '1h' }, { request }],
  ['a task', { taskId: 'task_1', deadline: '2h' }, { taskId: 'task_1' }],
  ['nulls, which some SDKs send', { request: null, taskId: null }, {}],
  ['other types', { request: 'fox', taskId: 7 }, {}],
])('the identity of a job with %s has the request or the task, and no options', (_what, input, identity) => {
  expect(identityOf(input)).toEqual(identity);
});

test('the same job has no conflict', () => {
  expect(describeConflict('fox', { request }, { request: { ...request } })).toBeUndefined();
});

test('a caller who guesses a name does not learn what the other job is for', () => {
  const secret = { prompt: 'a face of our film', image_url: 'https://cdn.test/a.png?signature=s3cret' };
  const conflict = describeConflict('fox', { request: secret }, { request: { prompt: 'A red fox' } });
  expect(conflict).toEqual({
    message: 'fox is the name of another job (it differs in prompt, image_url)',
    advice: 'Choose another name.',
  });
});

test('the fields of the request are named in their order, and the task last', () => {
  const existing = identityOf({ request: { prompt: 'A red fox', duration: 5 } });
  expect(describeDifference(existing, identityOf({ taskId: 'task_1' }))).toBe('prompt, duration, taskId');
});

test('a hostile memo makes no hostile message', () => {
  const existing = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${index}\u001b[2J\n\u202E${'x'.repeat(1_000)}`, 'y']),
  );
  const difference = describeDifference(existing, { request: { prompt: 'A red fox' } }) ?? '';
  expect(difference).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(difference.length).toBeLessThan(500);
});

test.each([undefined, null, 'text', 7, {}, { request: null }, { request: 'text' }])(
  'a job whose memo is %j is another job',
  (existing) => {
    expect(describeDifference(existing, { request: { prompt: 'A red fox' } })).toBe('prompt');
  },
);
