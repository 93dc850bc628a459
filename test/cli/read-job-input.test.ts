import type { GenerateOptions } from '../../src/cli/options';
import { readJobInput } from '../../src/cli/read-job-input';
import { VideoFailure } from '../../src/contract';

const read = (prompt: string | undefined, options: Partial<GenerateOptions>, onEmulator = false) =>
  readJobInput(prompt, { wait: true, ...options }, onEmulator);

function refusal(prompt: string | undefined, options: Partial<GenerateOptions>): string {
  try {
    read(prompt, options);
  } catch (error) {
    if (!(error instanceof VideoFailure)) throw error;
    expect(error).toMatchObject({ type: 'InvalidRequest', exitCode: 2 });
    return error.details.message ?? '';
  }
  throw new Error('it was accepted');
}

test('every option lands in the request', () => {
  const options = {
    imageUrl: 'https://example.com/fox.png',
    resolution: '720p',
    aspectRatio: '9:16',
    duration: '5',
    seed: '-7',
    deadline: '30m',
  };
  expect(read('A red fox', options)).toEqual({
    request: {
      prompt: 'A red fox',
      image_url: 'https://example.com/fox.png',
      resolution: '720p',
      aspect_ratio: '9:16',
      duration: 5,
      seed: -7,
    },
    deadline: '30m',
  });
});

test('what is not given is not in the request, and names and places of the job are not either', () => {
  expect(read('A red fox', { id: 'fox', out: 'fox.mp4', json: true })).toEqual({
    request: { prompt: 'A red fox' },
  });
});

test('what the job is to do with the video lands beside the request', () => {
  const options = { storage: 'foxes/{date}/{workflowId}.{ext}', keepBad: true };
  expect(read('A red fox', options)).toEqual({ request: { prompt: 'A red fox' }, ...options });
  expect(read(undefined, { adopt: 'task_1', ...options })).toEqual({ taskId: 'task_1', ...options });
});

test('the emulator is looked at every second, a real service as the job thinks fit', () => {
  expect(read('A red fox', {}, true)).toMatchObject({ polling: { min: '1s', max: '1s' } });
  expect(read('A red fox', {}, false)).not.toHaveProperty('polling');
});

test('a task is adopted by its id', () => {
  expect(read(undefined, { adopt: 'task_1', deadline: '2h' })).toEqual({ taskId: 'task_1', deadline: '2h' });
});

test('an id alone follows the job of that name', () => {
  expect(read(undefined, { id: 'fox', deadline: '1h', out: 'fox.mp4' })).toBeUndefined();
});

test.each<[string, string | undefined, Partial<GenerateOptions>, string]>([
  ['no prompt', undefined, {}, 'there is no prompt: say what the video is to show'],
  ['an empty prompt', ' ', {}, 'prompt must not be empty'],
  ['options without a prompt', undefined, { seed: '7', id: 'fox' }, 'prompt is missing'],
  [
    'a resolution there is not',
    'x',
    { resolution: '4k' },
    'resolution must be one of 480p, 720p, 1080p (was "4k")',
  ],
  ['an aspect ratio there is not', 'x', { aspectRatio: '2:1' }, 'aspect_ratio must be one of 16:9'],
  ['a duration of 11', 'x', { duration: '11' }, 'duration must be at most 10 (was 11)'],
  ['half a second', 'x', { duration: '0.5' }, 'duration must be a whole number (was 0.5)'],
  ['a seed that is no number', 'x', { seed: 'x' }, 'seed must be a number (was "x")'],
  ['a seed of nothing', 'x', { seed: '' }, 'seed must be a number (was "")'],
  ['a seed without an end', 'x', { seed: 'Infinity' }, 'seed must be a number (was "Infinity")'],
  ['an image that is no URL', 'x', { imageUrl: 'fox.png' }, 'image_url must be a URL (was "fox.png")'],
  ['a deadline without a unit', 'x', { deadline: '30' }, 'deadline must be milliseconds or a duration'],
  ['a prompt and a task', 'x', { adopt: 'task_1' }, 'either a request or the taskId of a task to adopt'],
  ['a request for a task', undefined, { adopt: 'task_1', seed: '7' }, 'either a request or the taskId'],
  [
    'a key outside of the storage',
    'x',
    { storage: '../fox.mp4' },
    'storage must be a key inside the storage',
  ],
  [
    'a placeholder there is not',
    'x',
    { storage: '{user}/fox.mp4' },
    'it may contain {workflowId}, {taskId}, {date}, {ext}',
  ],
  ['an empty task id', undefined, { adopt: '' }, 'taskId must be text'],
])('%s is refused in words that name it', (_what, prompt, options, words) => {
  expect(refusal(prompt, options)).toContain(words);
});

test('further fields land in the request when the service has them, as JSON or as text', () => {
  const options = { wait: true, field: ['model=m1', 'size={"w":640}', 'note=a=b', 'n=5'] };
  const request = { prompt: 'A red fox', model: 'm1', size: { w: 640 }, note: 'a=b', n: 5 };
  expect(readJobInput('A red fox', options, false, ['model', 'size', 'note', 'n'])).toEqual({ request });
  expect(refusal('A red fox', options)).toContain('"model" is not a field of the request');
});

test.each(['model', '=x', ''])('a further field written as %j is refused', (field) => {
  expect(refusal('A red fox', { field: [field] })).toContain('give NAME=VALUE');
});
