import { errorObject, exitCodeOf, reportError } from '../../src/cli/exit-codes';
import { EXIT } from '../../src/cli/terminal';
import { TemporalUnreachable } from '../../src/client/refusals';
import { ConfigError } from '../../src/config/service-config';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { DecisionRefused } from '../../src/contract/lost-submit';
import { VideoFailure } from '../../src/contract/video-failure';
import { ServerUnavailable } from '../../src/temporal-server';
import { FakeTerminal } from './fake-terminal';

test('a failed job ends with the code of the failure table', () => {
  expect(exitCodeOf(new VideoFailure('GenerationFailed'))).toBe(FAILURES.GenerationFailed.exitCode);
  expect(exitCodeOf(new VideoFailure('InvalidRequest'))).toBe(EXIT.usage);
});

test('usage errors, a missing Temporal and bugs have different codes', () => {
  expect(exitCodeOf(new ConfigError('x'))).toBe(EXIT.usage);
  expect(exitCodeOf(new DecisionRefused('x'))).toBe(EXIT.usage);
  expect(exitCodeOf(new TemporalUnreachable('x'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new ServerUnavailable('x', [], 'y'))).toBe(EXIT.noTemporal);
  expect(exitCodeOf(new TypeError('x'))).toBe(EXIT.unexpected);
  expect(exitCodeOf('x')).toBe(EXIT.unexpected);
});

test('no code has two meanings', () => {
  const { usage, ...own } = EXIT;
  expect(usage).toBe(FAILURES.InvalidRequest.exitCode);
  const codes = [...Object.values(own), ...Object.values(FAILURES).map(({ exitCode }) => exitCode)];
  expect(new Set(codes).size).toBe(codes.length);
});

test('the error object of a failed job has its type, message, task and advice', () => {
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

test('the error object of refused content says what was refused, and with which code', () => {
  const failure = new VideoFailure('ContentRefused', {
    status: 400,
    code: 'nsfw',
    stage: 'prompt',
    field: 'prompt',
  });
  expect(JSON.parse(JSON.stringify(errorObject(failure)))).toEqual({
    error: {
      type: 'ContentRefused',
      message: 'The content policy of the service refused the prompt: HTTP 400, code nsfw.',
      advice: FAILURES.ContentRefused.advice,
      code: 'nsfw',
      stage: 'prompt',
      field: 'prompt',
    },
  });
  expect(exitCodeOf(failure)).toBe(22);
});

test('the error object of any other error has its type and message', () => {
  const printed = (error: unknown) => JSON.parse(JSON.stringify(errorObject(error)));
  expect(printed(new ConfigError('VIDEO_API_KEY is empty'))).toEqual({
    error: { type: 'ConfigError', message: 'VIDEO_API_KEY is empty' },
  });
  expect(printed('a word')).toEqual({ error: { type: 'Error', message: 'a word' } });
  expect(printed(undefined)).toEqual({ error: { type: 'Error', message: 'undefined' } });
});

describe('the last line about a failed job', () => {
  const lastLine = (error: unknown) => {
    const terminal = new FakeTerminal();
    reportError(error, {}, terminal);
    return terminal.stderr.trimEnd().split('\n').at(-1);
  };

  test.each<FailureType>(['DeadlineExceeded', 'Cancelled', 'StorageFailed', 'VideoUnavailable'])(
    'that ended as %s is the command that adopts its task',
    (type) => {
      expect(lastLine(new VideoFailure(type, { taskId: 'task_1' }))).toBe(
        'Pick the task up again with: videogen generate --adopt task_1',
      );
    },
  );

  test('with a named service says that its task is adopted there', () => {
    const lost = new VideoFailure('SubmitUnconfirmed', { service: 'b' });
    expect(lastLine(lost)).toContain('videogen generate --adopt TASK_ID --service b');
    const late = new VideoFailure('DeadlineExceeded', { taskId: 'task_1', service: 'b' });
    expect(lastLine(late)).toContain('videogen generate --adopt task_1 --service b');
  });

  test('whose submit is unconfirmed is the command to use once the task is found', () => {
    expect(lastLine(new VideoFailure('SubmitUnconfirmed'))).toContain('videogen generate --adopt TASK_ID');
  });

  test.each<FailureType>(['GenerationFailed', 'GenerationCancelled', 'InvalidRequest'])(
    'that ended as %s is the failure itself: there is nothing to adopt',
    (type) => {
      const failure = new VideoFailure(type, { taskId: type === 'InvalidRequest' ? undefined : 'task_1' });
      expect(lastLine(failure)).toBe(failure.message);
    },
  );
});
