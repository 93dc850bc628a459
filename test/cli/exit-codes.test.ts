import { ServiceError } from '@temporalio/client';
import { errorObject, exitCodeOf, reportError } from '../../src/cli/exit-codes';
import { EXIT } from '../../src/cli/terminal';
import { TemporalUnreachable } from '../../src/client/refusals';
import { ConfigError } from '../../src/config/service-config';
import { FAILURES } from '../../src/contract/failure-table';
import { DecisionRefused } from '../../src/contract/lost-submit';
import { VideoFailure } from '../../src/contract/video-failure';
import { ServerUnavailable } from '../../src/temporal-server';
import { FakeTerminal } from './fake-terminal';

test('a failed job ends with the code of the failure table; usage, a missing Temporal and bugs have others', () => {
  expect(exitCodeOf(new VideoFailure('GenerationFailed'))).toBe(FAILURES.GenerationFailed.exitCode);
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

test('the error object of refused content says what was refused, and with which code', () => {
  const failure = new VideoFailure('ContentRefused', {
    status: 400,
    code: 'nsfw',
    stage: 'prompt',
    field: 'prompt',
    taskId: 'task_1',
  });
  expect(JSON.parse(JSON.stringify(errorObject(failure)))).toEqual({
    error: {
      type: 'ContentRefused',
      message: 'The content policy of the service refused the prompt (task task_1): HTTP 400, code nsfw.',
      taskId: 'task_1',
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
  const cause = new Error('3 INVALID_ARGUMENT: TaskQueue length exceeds limit.');
  expect(printed(new ServiceError('Failed to start Workflow', { cause })).error.message).toBe(
    'Failed to start Workflow: 3 INVALID_ARGUMENT: TaskQueue length exceeds limit.',
  );
  expect(printed(undefined)).toEqual({ error: { type: 'Error', message: 'undefined' } });
});

test.each<[VideoFailure, string]>([
  [new VideoFailure('DeadlineExceeded', { taskId: 'task_1' }), '--adopt task_1'],
  [new VideoFailure('VideoUnavailable', { taskId: 'task_1' }), '--adopt task_1'],
  [new VideoFailure('DeadlineExceeded', { taskId: 'task_1', service: 'b' }), '--adopt task_1 --service b'],
  [new VideoFailure('SubmitUnconfirmed', { service: 'b' }), '--adopt TASK_ID --service b'],
  [new VideoFailure('GenerationFailed', { taskId: 'task_1' }), ''],
  [new VideoFailure('InvalidRequest'), ''],
])('the last line about %s is the command that adopts its task, if there is one: %s', (failure, adopts) => {
  const terminal = new FakeTerminal();
  reportError(failure, {}, terminal);
  const lastLine = terminal.stderr.trimEnd().split('\n').at(-1);
  if (adopts === '') expect(lastLine).toBe(failure.message);
  else expect(lastLine?.endsWith(`with: videogen generate ${adopts}`)).toBe(true);
});
