import { EXIT, errorObject, exitCodeOf, reportError } from '../../src/cli/exit-codes';
import { TemporalUnreachable } from '../../src/client/temporal-unreachable';
import { ConfigError } from '../../src/config/service-config';
import { DecisionRefused, FAILURES, type FailureType, VideoFailure } from '../../src/contract';
import { ServerUnavailable } from '../../src/temporal-server';
import { FakeTerminal } from './fake-terminal';

test('a failed job ends with the code of its row', () => {
  expect(exitCodeOf(new VideoFailure('GenerationFailed'))).toBe(FAILURES.GenerationFailed.exitCode);
  expect(exitCodeOf(new VideoFailure('InvalidRequest'))).toBe(EXIT.usage);
});

test('usage, a missing Temporal and a mistake of ours are told apart', () => {
  expect(exitCodeOf(new ConfigError('x'))).toBe(EXIT.usage);
  expect(exitCodeOf(new DecisionRefused('x'))).toBe(EXIT.usage);
  expect(exitCodeOf(new TemporalUnreachable('x'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new ServerUnavailable('x', [], 'y'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new TypeError('x'))).toBe(EXIT.unexpected);
  expect(exitCodeOf('x')).toBe(EXIT.unexpected);
});

test('no code means two things', () => {
  const { usage, ...own } = EXIT;
  expect(usage).toBe(FAILURES.InvalidRequest.exitCode);
  const codes = [...Object.values(own), ...Object.values(FAILURES).map(({ exitCode }) => exitCode)];
  expect(new Set(codes).size).toBe(codes.length);
});

test('a program is told type, message, task and advice of a failed job, each once', () => {
  const failure = new VideoFailure('GenerationFailed', { taskId: 'task_1', message: 'moderated' });
  expect(errorObject(failure)).toEqual({
    error: {
      type: 'GenerationFailed',
      message: 'The service could not generate the video (task task_1): moderated.',
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

describe('the last line about a failed job', () => {
  const lastLine = (error: unknown) => {
    const terminal = new FakeTerminal();
    reportError(error, {}, terminal);
    return terminal.stderr.trimEnd().split('\n').at(-1);
  };

  test.each<FailureType>(['DeadlineExceeded', 'Cancelled', 'StorageFailed', 'VideoUnavailable'])(
    'that ended as %s is the command that picks its task up again',
    (type) => {
      expect(lastLine(new VideoFailure(type, { taskId: 'task_1' }))).toBe(
        'Pick the task up again with: videogen generate --adopt task_1',
      );
    },
  );

  test('whose submit is unconfirmed is the command for when the task is found', () => {
    expect(lastLine(new VideoFailure('SubmitUnconfirmed'))).toContain('videogen generate --adopt TASK_ID');
  });

  test.each<FailureType>(['GenerationFailed', 'GenerationCancelled', 'TaskUnknown', 'InvalidRequest'])(
    'that ended as %s is what happened: there is nothing to pick up',
    (type) => {
      const failure = new VideoFailure(type, { taskId: type === 'InvalidRequest' ? undefined : 'task_1' });
      expect(lastLine(failure)).toBe(failure.message);
    },
  );
});
