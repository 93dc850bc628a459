import { jsonBytes } from '../../src/contract/sizes';
import { describeDifference, shortWanted } from '../../src/contract/wanted-video';

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
  const short = shortWanted({ request: long });
  expect(short.request).toMatchObject(request);
  expect(jsonBytes(short)).toBeLessThan(500);
  expect(shortWanted(short)).toEqual(short);
  const other = { ...long, image_url: `${long.image_url}A` };
  for (const there of [short, { request: long }]) {
    expect(describeDifference(there, { request: { ...long } })).toBeUndefined();
    expect(describeDifference(there, shortWanted({ request: long }))).toBeUndefined();
    expect(describeDifference(there, { request: other })).toMatch(/^image_url/);
  }
});

test.each([
  ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration: 5 there, 10 here'],
  ['a value less', { request }, { request: { prompt: 'A red fox' } }, 'duration: 5 there, none here'],
  ['a value more', { request }, { request: { ...request, seed: 0 } }, 'seed: none there, 0 here'],
  [
    'text that looks like a number',
    { request: { prompt: '5' } },
    { request: { prompt: '6' } },
    'prompt: "5" there, "6" here',
  ],
  ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId: "task_1" there, "task_2" here'],
  [
    'a task in place of a request',
    { request: { prompt: 'A red fox' } },
    { taskId: 'task_1' },
    'prompt: "A red fox" there, none here; taskId: none there, "task_1" here',
  ],
])('%s is named', (_what, there, here, words) => {
  expect(describeDifference(there, here)).toBe(words);
});

test('several differences are all named', () => {
  const here = { request: { prompt: 'A blue fox', duration: 10 } };
  expect(describeDifference({ request }, here)).toBe(
    'prompt: "A red fox" there, "A blue fox" here; duration: 5 there, 10 here',
  );
});

test.each([undefined, null, 'text', 7, {}, { request: null }, { request: 'text' }])(
  'a job that says %j of itself is another one',
  (there) => {
    expect(describeDifference(there, { request: { prompt: 'A red fox' } })).toBe(
      'prompt: none there, "A red fox" here',
    );
  },
);
