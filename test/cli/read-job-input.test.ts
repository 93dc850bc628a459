import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type GenerateOptions, readCap, readJobInput } from '../../src/cli/read-input';
import { VideoFailure } from '../../src/contract/video-failure';

const SERVICE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: 'key' };
const read = (prompt: string | undefined, options: Partial<GenerateOptions>, onEmulator = false) =>
  readJobInput(prompt, { wait: true, ...options }, onEmulator ? {} : SERVICE);

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

test('every option becomes part of the request', () => {
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

test('the request has only the given fields, without --id, --out and --json', () => {
  expect(read('A red fox', { id: 'fox', out: 'fox.mp4', json: true })).toEqual({
    request: { prompt: 'A red fox' },
  });
});

test('options for the stored video go next to the request', () => {
  const options = { storage: 'foxes/{date}/{workflowId}.{ext}' };
  expect(read('A red fox', options)).toEqual({ request: { prompt: 'A red fox' }, ...options });
  expect(read(undefined, { adopt: 'task_1', ...options })).toEqual({ taskId: 'task_1', ...options });
});

test('the emulator is polled every second, a real service at the default interval', () => {
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
  ['no prompt', undefined, {}, 'there is no prompt: describe the video'],
  ['an empty prompt', ' ', {}, 'prompt must not be empty'],
  ['options without a prompt', undefined, { seed: '7', id: 'fox' }, 'prompt is missing'],
  [
    'an unknown resolution',
    'x',
    { resolution: '4k' },
    'resolution must be one of 480p, 720p, 1080p (was "4k")',
  ],
  ['an unknown aspect ratio', 'x', { aspectRatio: '2:1' }, 'aspect_ratio must be one of 16:9'],
  ['a duration of 11', 'x', { duration: '11' }, 'duration must be at most 10 (was 11)'],
  ['half a second', 'x', { duration: '0.5' }, 'duration must be a whole number (was 0.5)'],
  [
    'a seed that is not a number',
    'x',
    { seed: 'x' },
    'seed must be a whole number of at most 9007199254740991 (was "x")',
  ],
  ['an empty seed', 'x', { seed: '' }, 'seed must be a whole number of at most 9007199254740991 (was "")'],
  [
    'an infinite seed',
    'x',
    { seed: 'Infinity' },
    'seed must be a whole number of at most 9007199254740991 (was "Infinity")',
  ],
  ['an image that is not a URL', 'x', { imageUrl: 'fox.png' }, 'image_url must be a URL (was "fox.png")'],
  ['a deadline without a unit', 'x', { deadline: '30' }, 'deadline must be milliseconds or a duration'],
  ['a prompt and a task', 'x', { adopt: 'task_1' }, 'either a request or the taskId of a task to adopt'],
  ['a request for a task', undefined, { adopt: 'task_1', seed: '7' }, 'either a request or the taskId'],
  ['a key outside the storage', 'x', { storage: '../fox.mp4' }, 'storage must be a key inside the storage'],
  [
    'an unknown placeholder',
    'x',
    { storage: '{user}/fox.mp4' },
    'it may contain {workflowId}, {taskId}, {date}, {ext}',
  ],
  ['an empty task id', undefined, { adopt: '' }, 'taskId must be text'],
])('%s is refused with the name of the field', (_what, prompt, options, message) => {
  expect(refusal(prompt, options)).toContain(message);
});

test('further fields that the profile allows become part of the request, as JSON or as text', () => {
  const options = { wait: true, field: ['model=m1', 'size={"w":640}', 'note=a=b', 'n=5'] };
  const folder = mkdtempSync(join(tmpdir(), 'videogen-fields-'));
  const profile = join(folder, 'profile.yaml');
  writeFileSync(profile, 'requestFields: [model, size, note, n]');
  const request = { prompt: 'A red fox', model: 'm1', size: { w: 640 }, note: 'a=b', n: 5 };
  expect(readJobInput('A red fox', options, { ...SERVICE, VIDEOGEN_PROFILE: profile })).toEqual({ request });
  rmSync(folder, { recursive: true });
  expect(refusal('A red fox', options)).toContain('"model", "size", "note", "n": not a field of the request');
});

test.each(['model', '=x', ''])('a further field written as %j is refused', (field) => {
  expect(refusal('A red fox', { field: [field] })).toContain('give NAME=VALUE');
});

test('limits in different units are one cap', () => {
  expect(readCap(['3 videos', '20 seconds', '2.50 USD'])).toEqual({
    videos: 3,
    seconds: 20,
    money: { amount: 2.5, currency: 'USD' },
  });
});

test.each([
  [['2 USD', '300 USD'], '--cap has two limits in money: give one.'],
  [['2 USD', '1 EUR'], '--cap has two limits in money: give one.'],
  [['1 video', '5 videos'], '--cap has two limits in videos: give one.'],
  [
    ['1.2.3 USD'],
    '--cap is "1.2.3 USD": give a number with videos, seconds or a currency, such as "2.50 USD".',
  ],
])('%j is refused', (given, sentence) => {
  expect(() => readCap(given)).toThrow(sentence);
});
