import { describeConflict, describeDifference, shortIdentity } from '../../src/contract/job-identity';
import { jsonBytes } from '../../src/contract/sizes';

const request = { prompt: 'A red fox', duration: 5 };

test.each([
  ['the same request', { request }, { request: { ...request } }],
  ['its fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }],
  ['a field that is not set', { request }, { request: { ...request, seed: undefined }, taskId: undefined }],
  ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }],
])('%s is the same video', (_what, there, here) => {
  expect(describeDifference(there, here)).toBeUndefined();
});

test('long values are compared by their digests, whichever side has them', () => {
  const long = { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
  const short = shortIdentity({ request: long });
  expect(short.request).toMatchObject(request);
  expect(jsonBytes(short)).toBeLessThan(500);
  expect(shortIdentity(short)).toEqual(short);
  const other = { ...long, image_url: `${long.image_url}A` };
  for (const there of [short, { request: long }]) {
    expect(describeDifference(there, { request: { ...long } })).toBeUndefined();
    expect(describeDifference(there, shortIdentity({ request: long }))).toBeUndefined();
    expect(describeDifference(there, { request: other })).toMatch(/^image_url/);
  }
});

test.each([
  ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration'],
  ['a value less', { request }, { request: { prompt: 'A red fox' } }, 'duration'],
  ['a value more', { request }, { request: { ...request, seed: 0 } }, 'seed'],
  ['text that looks like a number', { request: { prompt: '5' } }, { request: { prompt: '6' } }, 'prompt'],
  ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId'],
  [
    'a task in place of a request',
    { request: { prompt: 'A red fox' } },
    { taskId: 'task_1' },
    'prompt, taskId',
  ],
])('%s is named', (_what, there, here, words) => {
  expect(describeDifference(there, here)).toBe(words);
});

test('several differences are all named', () => {
  const here = { request: { prompt: 'A blue fox', duration: 10 } };
  expect(describeDifference({ request }, here)).toBe('prompt, duration');
});

test('what another job is for is not told to whoever tries its name', () => {
  const secret = { prompt: 'a face of our film', image_url: 'https://cdn.test/a.png?signature=s3cret' };
  const told = describeConflict('fox', { request: secret }, { request: { prompt: 'A red fox' } });
  expect(told).toBe('fox is the name of another job (it differs in prompt, image_url); choose another name');
});

test('a job that says strange things of itself makes no strange message', () => {
  const there = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${index}\u001b[2J\n\u202E${'x'.repeat(1_000)}`, 'y']),
  );
  const told = describeDifference(there, { request: { prompt: 'A red fox' } }) ?? '';
  expect(told).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(told.length).toBeLessThan(500);
  expect(told).toMatch(/ and 4\d\d\d more$/);
});

test.each([undefined, null, 'text', 7, {}, { request: null }, { request: 'text' }])(
  'a job that says %j of itself is another one',
  (there) => {
    expect(describeDifference(there, { request: { prompt: 'A red fox' } })).toBe('prompt');
  },
);
