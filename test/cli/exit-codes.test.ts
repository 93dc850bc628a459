import { EXIT, errorObject, exitCodeOf } from '../../src/cli/exit-codes';
import { ConfigError } from '../../src/config';
import { TemporalUnreachable } from '../../src/connect';
import { FAILURES, VideoFailure } from '../../src/contract';
import { EngineUnavailable } from '../../src/engine';

test('a failed job ends with the code of its row', () => {
  expect(exitCodeOf(new VideoFailure('GenerationFailed'))).toBe(FAILURES.GenerationFailed.exitCode);
  expect(exitCodeOf(new VideoFailure('InvalidRequest'))).toBe(EXIT.usage);
});

test('usage, a missing Temporal and a mistake of ours are told apart', () => {
  expect(exitCodeOf(new ConfigError('x'))).toBe(EXIT.usage);
  expect(exitCodeOf(new TemporalUnreachable('x'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new EngineUnavailable('x', [], 'y'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new TypeError('x'))).toBe(EXIT.unexpected);
  expect(exitCodeOf('x')).toBe(EXIT.unexpected);
});

test('no code means two things', () => {
  const { usage, ...own } = EXIT;
  expect(usage).toBe(FAILURES.InvalidRequest.exitCode);
  const codes = [...Object.values(own), ...Object.values(FAILURES).map(({ exitCode }) => exitCode)];
  expect(new Set(codes).size).toBe(codes.length);
});

test('a program is told type, message, task and advice of a failed job', () => {
  const failure = new VideoFailure('GenerationFailed', { taskId: 'task_1', message: 'moderated' });
  expect(errorObject(failure)).toEqual({
    error: {
      type: 'GenerationFailed',
      message: failure.message,
      taskId: 'task_1',
      advice: FAILURES.GenerationFailed.advice,
    },
  });
});

test('a program is told type and message of anything else, whatever was thrown', () => {
  const told = (error: unknown) => JSON.parse(JSON.stringify(errorObject(error)));
  expect(told(new ConfigError('VIDEO_API_KEY is empty'))).toEqual({
    error: { type: 'ConfigError', message: 'VIDEO_API_KEY is empty' },
  });
  expect(told('a word')).toEqual({ error: { type: 'Error', message: 'a word' } });
  expect(told(undefined)).toEqual({ error: { type: 'Error', message: 'undefined' } });
});
