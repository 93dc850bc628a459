import { WorkflowFailedError } from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  DefaultFailureConverter,
  defaultPayloadConverter,
  NexusOperationFailure,
  RetryState,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { FailureDetails } from '../../src/contract/failure-details';
import { FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import { adoptCommand, decisionCommands, mayHaveMadeTask } from '../../src/contract/lost-submit';
import {
  createFailure,
  describeFailure,
  isVideoFailure,
  readFailure,
  VideoFailure,
} from '../../src/contract/video-failure';
import { NotDecrypted } from '../../src/encryption/not-decrypted';
import { readTimeout } from '../../workflows/end';

const OUR_NAMES = { type: 'videogen.NoVideo', workflowType: 'generateVideo', service: 'VideoGeneration' };
const TYPES = Object.keys(FAILURES).filter(isFailureType);
const ROWS = Object.entries(FAILURES);

const inActivity = (cause?: Error, retryState: RetryState = RetryState.NON_RETRYABLE_FAILURE) =>
  new ActivityFailure('Activity task failed', 'pollVideo', '1', retryState, undefined, cause);
const inWorkflow = (cause?: Error) =>
  new WorkflowFailedError('Workflow execution failed', cause, RetryState.NON_RETRYABLE_FAILURE);
const inChild = (cause?: Error, workflowType = 'generateVideo') =>
  new ChildWorkflowFailure(
    'default',
    { workflowId: 'w', runId: 'r' },
    workflowType,
    RetryState.NON_RETRYABLE_FAILURE,
    cause,
  );
const inNexus = (cause?: Error, service = 'VideoGeneration') =>
  new NexusOperationFailure('operation failed', 5, 'videos', service, 'generateVideo', 'token', cause);

test('an advice of its own replaces the general advice, also across Temporal', () => {
  const details = { message: 'fox is taken', advice: 'Choose another name.' };
  const failure = new VideoFailure('InvalidRequest', details);
  expect(failure.message).toBe('The request was refused: fox is taken. Choose another name.');
  expect(failure.advice).toBe('Choose another name.');
  const crossed = readFailure(inWorkflow(createFailure('InvalidRequest', details)));
  expect([crossed?.message, crossed?.advice]).toEqual([failure.message, failure.advice]);
});

test('a failure of this package is known from any other error, and by its type', () => {
  const failure = new VideoFailure('NoVideo', { message: 'none' });
  expect(isVideoFailure(failure)).toBe(true);
  expect(isVideoFailure(failure, 'NoVideo')).toBe(true);
  expect(isVideoFailure(failure, 'GenerationFailed')).toBe(false);
  expect(isVideoFailure(new Error('none'))).toBe(false);
});

describe('whether a failure was charged for', () => {
  const charged = (amount: number) => ({ cost: { charged: { amount, currency: 'USD' } } });

  it.each<[FailureType, FailureDetails, 'yes' | 'no' | 'unknown']>([
    ['InvalidRequest', {}, 'no'],
    ['CapReached', {}, 'no'],
    ['ContentRefused', {}, 'no'],
    ['ContentRefused', { charged: true }, 'yes'],
    ['ContentRefused', { taskId: 't', charged: false }, 'no'],
    ['ContentRefused', { taskId: 't' }, 'unknown'],
    ['GenerationFailed', { taskId: 't' }, 'unknown'],
    ['GenerationFailed', { taskId: 't', ...charged(0.5) }, 'yes'],
    ['GenerationFailed', { taskId: 't', ...charged(0) }, 'no'],
    ['SubmitUnconfirmed', {}, 'unknown'],
    ['ServiceFailed', {}, 'no'],
    ['ServiceFailed', { mayHaveTask: true }, 'unknown'],
    ['ContentRefused', { charged: false, mayHaveTask: true }, 'unknown'],
    ['ContentRefused', { charged: false, ...charged(0.5) }, 'yes'],
    // It may have been stopped while its request was in flight.
    ['Cancelled', {}, 'unknown'],
    ['DeadlineExceeded', {}, 'unknown'],
    ['StorageFailed', {}, 'unknown'],
    // A submit before the refused one was lost.
    ['InvalidRequest', { cost: { lostSubmits: 1 } }, 'unknown'],
    ['GenerationFailed', { taskId: 't', cost: { ...charged(0).cost, lostSubmits: 1 } }, 'unknown'],
  ])('%s with %j: %s', (type, details, expected) => {
    expect(new VideoFailure(type, details).charged).toBe(expected);
  });
});

describe('the failure table', () => {
  it('has HTTP statuses that mean an error, and exit codes that are all different and no crash', () => {
    expect(ROWS.filter(([, { httpStatus }]) => httpStatus < 400 || httpStatus > 599)).toEqual([]);
    const codes = ROWS.map(([, { exitCode }]) => exitCode);
    expect(new Set(codes).size).toBe(codes.length);
    // From 126 on a code is the shell's own: not found, not executable, ended by a signal.
    expect(codes.filter((code) => code < 2 || code > 125)).toEqual([]);
  });

  it('never has Temporal repeat a submit that may have been paid for', () => {
    const repeated = ROWS.filter(([, { retry }]) => retry.submit === 'policy').map(([type]) => type);
    // The storage fails before anything is sent.
    expect(repeated).toEqual(['RateLimited', 'ServiceFailed', 'ServiceUnreachable', 'StorageFailed']);
  });

  it('knows after which failures of a submit a paid task may exist', () => {
    expect(TYPES.filter(mayHaveMadeTask)).toEqual(['SubmitUnconfirmed']);
  });

  it('ends a paid job while polling only when the service reports that the task ended', () => {
    const final = ROWS.filter(([, { retry }]) => retry.poll === 'never').map(([type]) => type);
    expect(final).toEqual(['GenerationFailed', 'ContentRefused', 'GenerationCancelled']);
  });

  it('leads to the next service only after failures that certainly made no task, none of them about the content, a cap or our storage', () => {
    const leading = ROWS.filter(([, { fallsBack }]) => fallsBack !== undefined);
    expect(leading.map(([type, { fallsBack }]) => `${type} ${fallsBack}`)).toEqual([
      'InvalidRequest if-answered',
      'Unauthorized always',
      'RateLimited always',
      'ServiceFailed always',
      'ServiceUnreachable always',
      'AnswerUnreadable always',
    ]);
    for (const [, { retry }] of leading) expect(['never', 'policy']).toContain(retry.submit);
  });
});

describe('the message of a failure', () => {
  it('says what happened, to which task, what the service answered, and what to do', () => {
    const { meaning, advice } = FAILURES.RateLimited;
    expect(describeFailure('RateLimited')).toBe(`${meaning}. ${advice}`);
    const details = { taskId: 'task-1', status: 429, code: 'slow', message: 'Too many' };
    expect(describeFailure('RateLimited', details)).toBe(
      `${meaning} (task task-1): HTTP 429, code slow, Too many. ${advice}`,
    );
  });

  it.each<[FailureDetails, string]>([
    [{}, 'The content policy of the service refused the request or the video.'],
    [{ stage: 'prompt' }, 'The content policy of the service refused the prompt.'],
    [
      { stage: 'image', status: 400, code: 'nsfw', message: 'No.' },
      'refused the image: HTTP 400, code nsfw, No.',
    ],
    [{ stage: 'output', taskId: 't', message: 'No!' }, 'refused the finished video (task t): No!'],
    [{ stage: 'prompt', field: 'prompt', charged: false }, 'the prompt. The service charges nothing for it.'],
    [{ stage: 'prompt', field: 'negative_prompt' }, 'refused the field negative_prompt.'],
    [{ field: 'a\u001b[31mb'.repeat(100) }, 'refused the field a'],
  ])('says what the content policy refused: %j', (details, part) => {
    const { advice } = FAILURES.ContentRefused;
    const described = describeFailure('ContentRefused', details);
    expect(described).toContain(part);
    expect(described.endsWith(` ${advice}`)).toBe(true);
    expect(described.length).toBeLessThan(600);
  });
});

describe('a failure on its way through Temporal', () => {
  it('is not retryable by default, and has a type that no host uses', () => {
    expect(createFailure('NoVideo')).toMatchObject({ nonRetryable: true, type: 'videogen.NoVideo' });
    const retryable = createFailure('RateLimited', {}, { retryable: true, nextRetryDelayMs: 7_000 });
    expect(retryable).toMatchObject({ nonRetryable: false, nextRetryDelay: 7_000 });
  });

  const details = { taskId: 'task-1', status: 429, code: 'c', message: 'm', retryAfter: 5, attempt: 2 };

  it.each([
    ['itself', (failure: Error) => failure],
    ['an activity', inActivity],
    ['a workflow, its child and the activity', (failure: Error) => inWorkflow(inChild(inActivity(failure)))],
    ['an error of another library', (failure: Error) => new Error('wrapped', { cause: failure })],
  ])('is found, with its details and its cause, in %s', (_where, wrap) => {
    for (const type of TYPES) {
      const error = wrap(createFailure(type, details));
      const failure = readFailure(error);
      expect(failure).toBeInstanceOf(VideoFailure);
      expect(failure).toMatchObject({ type, details, taskId: 'task-1', cause: error });
      expect(failure?.message).toBe(describeFailure(type, details));
    }
  });

  it.each([
    ['a job that is a child workflow', inChild],
    ['a batch that is a child workflow', (cause: Error) => inChild(cause, 'generateVideos')],
    ['a job below the workflow that failed for it', (cause: Error) => inWorkflow(inChild(cause))],
    ['a job that was ordered through Nexus', inNexus],
  ])('is Cancelled for the cancellation of %s', (_where, wrap) => {
    const error = wrap(new CancelledFailure('cancelled'));
    expect(readFailure(error)).toMatchObject({ type: 'Cancelled', cause: error });
  });

  it.each([
    ['itself', (cancelled: Error) => cancelled],
    ['an activity', inActivity],
    ['a workflow of unknown type', inWorkflow],
    ["a child workflow of the host's", (cause: Error) => inChild(cause, 'bookHotel')],
    ['an activity below one of our jobs', (cause: Error) => inChild(inActivity(cause))],
    ['an operation of another Nexus service', (cause: Error) => inNexus(cause, 'Hotels')],
    ['an error with our names', (cause: Error) => Object.assign(new Error('x', { cause }), OUR_NAMES)],
  ])("is not read from a cancellation of the host's: %s", (_where, wrap) => {
    expect(readFailure(wrap(new CancelledFailure('cancelled')))).toBeUndefined();
  });

  it.each([
    ['a plain error', new Error('RateLimited')],
    ['a workflow that failed without a cause', inWorkflow()],
    [
      'an activity that ran out of time',
      inActivity(new TimeoutFailure('t', undefined, TimeoutType.HEARTBEAT)),
    ],
    ["a host's own failure of the same name", inActivity(ApplicationFailure.create({ type: 'NoVideo' }))],
    ['the type constructor', ApplicationFailure.create({ type: 'videogen.constructor' })],
    ['our type in other letters', ApplicationFailure.create({ type: 'Videogen.NoVideo' })],
  ])('is not read from %s', (_what, error) => {
    expect(readFailure(error)).toBeUndefined();
  });
});

describe('the timeout of an activity', () => {
  interface Left {
    /** The last heartbeat. */
    note?: object;
    /** How the last attempt ended. */
    last?: Error;
    /** The event that started the running attempt. */
    started?: number;
  }
  const converter = new DefaultFailureConverter();
  /** As the SDK makes it from what the server writes. */
  const timedOut = (type: 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE', { note, last, started }: Left = {}) => {
    const payloads = note ? [defaultPayloadConverter.toPayload(note)] : [];
    const failure = temporal.api.failure.v1.Failure.fromObject({
      activityFailureInfo: {
        activityId: '1',
        activityType: { name: 'submitVideo' },
        startedEventId: started,
      },
      cause: {
        timeoutFailureInfo: { timeoutType: `TIMEOUT_TYPE_${type}`, lastHeartbeatDetails: { payloads } },
        cause: last && converter.errorToFailure(last, defaultPayloadConverter),
      },
    });
    return converter.failureToError(failure, defaultPayloadConverter);
  };
  const refused = createFailure('RateLimited');
  const killed = new TimeoutFailure('t', undefined, TimeoutType.HEARTBEAT);

  it('says that no attempt was started when none left anything', () => {
    expect(readTimeout(timedOut('SCHEDULE_TO_START'))).toBe('never-started');
    for (const left of [{ note: { answered: 1 } }, { last: killed }]) {
      expect(readTimeout(timedOut('SCHEDULE_TO_START', left))).toBe('while-running');
    }
  });

  it.each(['SCHEDULE_TO_START', 'SCHEDULE_TO_CLOSE'] as const)(
    'says that no attempt was running at %s after one that certainly made no task',
    (type) => {
      expect(readTimeout(timedOut(type, { last: refused, note: { answered: 1 } }))).toBe('between-attempts');
      const ofTheHost = ApplicationFailure.create({ type: 'RateLimited' });
      for (const last of [ofTheHost, createFailure('SubmitUnconfirmed')])
        expect(readTimeout(timedOut(type, { last }))).toBe('while-running');
    },
  );

  it('says that no attempt could decrypt its input when none has run', () => {
    const undecrypted = (lastAttempt?: number) => new NotDecrypted('no key', 'no-keys', lastAttempt);
    const during = (last: Error, started?: number) =>
      readTimeout(timedOut('SCHEDULE_TO_CLOSE', { last, started }));
    expect(during(undecrypted(0))).toBe('never-decrypted');
    expect(during(undecrypted(1))).toBe('while-running');
    expect(during(undecrypted())).toBe('while-running');
    expect(during(undecrypted(0), 6)).toBe('while-running');
  });

  it('is also that of an activity that ended because no further attempt fits into its time', () => {
    const ended = (lastRun: number | undefined, retryState: RetryState) =>
      readTimeout(inActivity(new NotDecrypted('no key', 'no-keys', lastRun), retryState));
    expect(ended(0, RetryState.TIMEOUT)).toBe('never-decrypted');
    expect(ended(2, RetryState.TIMEOUT)).toBe('while-running');
    expect(ended(undefined, RetryState.TIMEOUT)).toBeUndefined();
    expect(ended(0, RetryState.CANCEL_REQUESTED)).toBeUndefined();
    expect(readTimeout(inActivity(refused, RetryState.TIMEOUT))).toBeUndefined();
  });

  it('says that an attempt may have run when one was started or killed, or nothing is written', () => {
    for (const left of [{}, { last: refused, started: 6 }, { last: killed }, { started: 6 }])
      expect(readTimeout(timedOut('SCHEDULE_TO_CLOSE', left))).toBe('while-running');
    const timeout = new TimeoutFailure('t', undefined, TimeoutType.SCHEDULE_TO_CLOSE);
    for (const written of [{}, { cause: {} }, { activityFailureInfo: {} }]) {
      const failure = Object.assign(inActivity(timeout), { failure: written });
      expect(readTimeout(failure)).toBe('while-running');
    }
  });
});

describe('the cause of a failure', () => {
  const encodedLength = (failure: Error) =>
    JSON.stringify(new DefaultFailureConverter().errorToFailure(failure, defaultPayloadConverter)).length;

  const causeOf = (cause: Error): Error => {
    const { cause: found } = createFailure('StorageFailed', {}, { cause });
    if (!(found instanceof Error)) throw new Error('no cause');
    return found;
  };

  it('stays unchanged up to 2,000 characters of name and message, and 8,000 of stack', () => {
    const cause = Object.assign(new Error('x'.repeat(1_995), { cause: new Error('ENOSPC') }), {
      stack: 'y'.repeat(8_000),
    });
    expect(causeOf(cause)).toBe(cause);
    expect(causeOf(Object.assign(cause, { stack: 'y'.repeat(8_001) }))).not.toBe(cause);
    const longer = Object.assign(new Error('x'.repeat(1_996)), { stack: '' });
    expect(causeOf(longer)).not.toBe(longer);
  });

  it('is cut when its message or that of a cause is long, with its calls and its own causes', () => {
    const message = `${'x'.repeat(1_999)}…`;
    const inner = new Error(`${'x'.repeat(3_000_000)}    at home`);
    const cause = new RangeError(`${'x'.repeat(3_000)}    at home`, { cause: inner });
    const copy = causeOf(cause);
    for (const [cut, original] of [[copy, cause] as const, [copy.cause, inner] as const]) {
      const [, ...calls] = (original.stack ?? '').split('\n');
      const stack = [`${original.name}: ${message}`, ...calls].join('\n');
      expect(cut).toMatchObject({ name: original.name, message, stack });
    }
    expect(encodedLength(createFailure('StorageFailed', {}, { cause }))).toBeLessThan(20_000);
  });

  it('is cut after a few causes, however many there are', () => {
    let cause = new Error('the first');
    for (let count = 0; count < 1_000; count++) cause = new Error('one more', { cause });
    expect(encodedLength(createFailure('StorageFailed', {}, { cause }))).toBeLessThan(50_000);
  });
});

test('the commands that decide a lost submit name the job, even one that looks like an option', () => {
  expect(decisionCommands('--help').map(({ command }) => command)).toEqual([
    'videogen decide --adopt TASK_ID -- --help',
    'videogen decide --resubmit -- --help',
    'videogen decide --abandon -- --help',
  ]);
});

test('the command after a failure adopts the task, unless it has ended without a video or none may exist', () => {
  const withoutCommand = ['GenerationFailed', 'ContentRefused', 'GenerationCancelled'];
  const commands = TYPES.map((type) => [type, adoptCommand({ type, taskId: 'task 1' })]);
  expect(commands).toEqual(
    TYPES.map((type) => [
      type,
      withoutCommand.includes(type) ? undefined : "videogen generate --adopt 'task 1'",
    ]),
  );
  expect(adoptCommand({ type: 'SubmitUnconfirmed' })).toBe('videogen generate --adopt TASK_ID');
  expect(adoptCommand({ type: 'RateLimited' })).toBeUndefined();
});
