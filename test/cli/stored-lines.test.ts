import { storedLines } from '../../src/cli/stored-lines';
import type { JobResult } from '../../src/contract/job';

const sha256 = 'ab'.repeat(32);
const result: JobResult = {
  taskId: 'task_1',
  video: {
    uri: 'file:///videos/fox.mp4',
    bytes: 1_948_997,
    sha256,
    contentType: 'video/mp4',
    width: 1280,
    height: 720,
    durationSeconds: 5,
    codec: 'avc',
  },
  polls: 4,
  waitedMs: 60_000,
  warnings: [],
};

test('a stored video is described with its format, task, number of polls and location', () => {
  expect(storedLines(result)).toEqual([
    `Stored 1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 ${sha256}, of task task_1 after 4 polls.`,
    'It is at file:///videos/fox.mp4.',
  ]);
  expect(storedLines({ ...result, polls: 1 }, '/copies/fox.mp4')).toEqual([
    expect.stringMatching(/, of task task_1 after one poll\.$/),
    'It is at file:///videos/fox.mp4, copied to /copies/fox.mp4.',
  ]);
});

test('each warning has a line of its own', () => {
  const warnings = ['720p was asked for, it is 640x360', '5 s were asked for, it is 3 s long'];
  expect(storedLines({ ...result, warnings }).slice(2)).toEqual([
    'Note: 720p was asked for, it is 640x360.',
    'Note: 5 s were asked for, it is 3 s long.',
  ]);
});

test('a result of an older version without warnings can still be described', () => {
  const { warnings: _, ...older } = result;
  const parsed: JobResult = JSON.parse(JSON.stringify(older));
  expect(storedLines(parsed)).toHaveLength(2);
});
