import { knownOfFailure } from '../../src/client/forget-job';

const STORED = 'the bad file is stored at';

test('a bad download is found in the message of the download', () => {
  const message = `the file is cut; ${STORED} file:///videos/fox.mp4.bad`;
  expect(knownOfFailure('VideoCorrupt', { taskId: 'task-1', message })).toEqual({
    taskId: 'task-1',
    badUri: 'file:///videos/fox.mp4.bad',
  });
});

test.each([
  ['a service whose task failed', 'GenerationFailed', `${STORED} file:///videos/elk.mp4.bad`],
  ['a service, about a video', 'VideoCorrupt', `${STORED} file:///videos/elk.mp4`],
  ['a service, about a record', 'VideoCorrupt', `${STORED} file:///videos/jobs/elk.0123456789abcdef.json`],
] as const)('the words of %s name no file to remove', (_whose, type, message) => {
  expect(knownOfFailure(type, { message })).toEqual({});
});

test('the words of a service before those of the download change nothing', () => {
  const message = `it begins with "${STORED} s3://bucket/elk.mp4.bad"; ${STORED} s3://bucket/fox.mp4.bad`;
  expect(knownOfFailure('VideoCorrupt', { message })).toEqual({ badUri: 's3://bucket/fox.mp4.bad' });
});
