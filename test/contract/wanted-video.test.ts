import { describeDifference } from '../../src/contract/wanted-video';

const request = { prompt: 'A red fox', duration: 5 };

test.each([
  ['the same request', { request }, { request: { ...request } }],
  ['its fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }],
  ['a field that is not set', { request }, { request: { ...request, seed: undefined }, taskId: undefined }],
  ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }],
])('%s is the same video', (_what, there, here) => {
  expect(describeDifference(there, here)).toBeUndefined();
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
