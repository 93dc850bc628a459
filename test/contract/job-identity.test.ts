import { describeConflict, describeDifference, identityOf } from '../../src/contract/job-identity';
import { jsonBytes } from '../../src/contract/sizes';

const request = { prompt: 'A red fox', duration: 5 };

it.each<[string, existing: object, given: object, difference: string | undefined]>([
  ['the same request', { request }, { request: { ...request } }, undefined],
  ['fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }, undefined],
  ['a field that is not set', { request }, { request: { ...request, seed: undefined } }, undefined],
  ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }, undefined],
  ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration'],
  ['a missing value', { request }, { request: { prompt: 'A red fox' } }, 'duration'],
  ['an additional value', { request }, { request: { ...request, seed: 0 } }, 'seed'],
  ['text that looks like a number', { request: { prompt: '5' } }, { request: { prompt: '6' } }, 'prompt'],
  ['several values', { request }, { request: { prompt: 'A blue fox', duration: 10 } }, 'prompt, duration'],
  ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId'],
  ['a task in place of a request', { request }, { taskId: 'task_1' }, 'prompt, duration, taskId'],
])('%s makes the difference of two jobs', (_what, existing, given, difference) => {
  expect(describeDifference(existing, given)).toBe(difference);
  expect(describeDifference(identityOf(existing), identityOf(given))).toBe(difference);
});

it('values of more than 200 characters as JSON are compared by their digests, on either side', () => {
  const identity = identityOf({ request: { fits: 'x'.repeat(198), long: 'x'.repeat(199) } });
  expect(identity.request).toEqual({
    fits: 'x'.repeat(198),
    long: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  const long = { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
  const short = identityOf({ request: long });
  expect(short.request).toMatchObject(request);
  expect(jsonBytes(short)).toBeLessThan(500);
  expect(identityOf(short)).toEqual(short);
  for (const existing of [short, { request: long }]) {
    for (const same of [short, { request: { ...long } }])
      expect(describeDifference(existing, same)).toBeUndefined();
    const other = { ...long, image_url: `${long.image_url}A` };
    expect(describeDifference(existing, { request: other })).toBe('image_url');
  }
});

it.each<[string, object, object]>([
  ['a request', { request, deadline: '1h' }, { request }],
  ['a task', { taskId: 'task_1', deadline: '2h' }, { taskId: 'task_1' }],
  ['nulls, which some SDKs send', { request: null, taskId: null }, {}],
  ['other types', { request: 'fox', taskId: 7 }, {}],
])('the identity of a job with %s has the request or the task, and no options', (_what, input, identity) => {
  expect(identityOf(input)).toEqual(identity);
});

it('a caller who guesses a name does not learn what the other job is for', () => {
  const secret = { prompt: 'a face of our film', image_url: 'https://cdn.test/a.png?signature=s3cret' };
  expect(describeConflict('fox', { request: secret }, { request: { prompt: 'A red fox' } })).toEqual({
    message: 'fox is the name of another job (it differs in prompt, image_url)',
    advice: 'Choose another name.',
  });
  expect(describeConflict('fox', { request }, { request: { ...request } })).toBeUndefined();
});

it('a hostile memo makes no hostile message', () => {
  const existing = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${index}\u001b[2J\n\u202E${'x'.repeat(1_000)}`, 'y']),
  );
  const difference = describeDifference(existing, { request }) ?? '';
  expect(difference).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(difference.length).toBeLessThan(500);
});

it.each([undefined, null, 'text', 7, {}, { request: null }, { request: 'text' }])(
  'a job whose memo is %j is another job',
  (existing) => {
    expect(describeDifference(existing, { request })).toBe('prompt, duration');
  },
);
