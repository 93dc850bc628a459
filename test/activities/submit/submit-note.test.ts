import { defaultPayloadConverter } from '@temporalio/common';
import { inspectPendingSubmit, readEarlierAttempts } from '../../../activities/submit/submit-note';
import { startAttempt } from '../activity-world';

const earlier = (heartbeatDetails: unknown, info = {}) =>
  startAttempt(readEarlierAttempts, undefined, { attempt: 2, heartbeatDetails, ...info }).result;
const lost = (attempt: number) => `attempt ${attempt} ended before its answer was known`;

test('a first attempt has nothing behind it', async () => {
  expect(await earlier(undefined, { attempt: 1 })).toEqual({
    lostSubmits: 0,
    triedForMs: 0,
    lostSubmit: undefined,
    keySent: false,
  });
});

test('an attempt knows all that the one before it noted', async () => {
  const note = {
    attemptWithoutTask: 1,
    sendWithoutTask: 'send-1',
    keySent: true,
    unsure: 'HTTP 500',
    triedForMs: 5_000,
    lostSubmits: 3,
    lostSubmit: 'lost before',
  };
  const { attemptWithoutTask: _, ...known } = note;
  expect(await earlier(note)).toEqual(known);
});

test('an attempt knows the task that the one before it noted', async () => {
  expect(await earlier({ taskId: 'task-1' })).toMatchObject({ taskId: 'task-1' });
});

test('of a note that somebody else wrote, only what has the right form counts', async () => {
  const wrong = {
    attemptWithoutTask: 1,
    sendWithoutTask: 1,
    taskId: 2,
    keySent: 'yes',
    unsure: 500,
    triedForMs: '5',
    lostSubmits: '3',
    lostSubmit: 4,
  };
  expect(await earlier(wrong)).toEqual({
    lostSubmits: 0,
    triedForMs: 0,
    lostSubmit: undefined,
    keySent: false,
  });
});

test.each<[string, object, number, string, number]>([
  ['that is new is counted', { sending: 1 }, 2, lost(1), 1],
  ['that is new is counted beside those before', { sending: 2, lostSubmits: 1 }, 3, lost(2), 2],
  [
    'that the note repeats is counted once',
    { attemptWithoutTask: 2, lostSubmit: lost(1), lostSubmits: 1 },
    3,
    lost(1),
    1,
  ],
  [
    'of a note from before they were counted is counted',
    { attemptWithoutTask: 2, lostSubmit: lost(1) },
    3,
    lost(1),
    1,
  ],
  [
    'after one that the note repeats is counted too',
    { attemptWithoutTask: 1, lostSubmit: 'x', lostSubmits: 1 },
    3,
    lost(2),
    2,
  ],
  ['whose note has no number is that of the attempt before', { sending: true }, 4, lost(3), 1],
])('a lost submit %s', async (_what, note, attempt, lostSubmit, lostSubmits) => {
  expect(await earlier(note, { attempt })).toMatchObject({ lostSubmit, lostSubmits, keySent: true });
});

describe('a first attempt', () => {
  const scheduled = { scheduledTimestampMs: 1_000 };

  test.each([999, 1_001])('that was scheduled again, at %d, may come after another one', async (at) => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: at };
    expect((await earlier(undefined, info)).lostSubmit).toContain('was reset or paused in Temporal');
  });

  test('that was scheduled once is the first', async () => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: 1_000 };
    expect((await earlier(undefined, info)).lostSubmit).toBeUndefined();
  });

  test('is the only one that may come after a reset: retries are scheduled later', async () => {
    const info = { ...scheduled, currentAttemptScheduledTimestampMs: 9_000 };
    expect((await earlier({ attemptWithoutTask: 1 }, info)).lostSubmit).toBeUndefined();
  });
});

/** What Temporal says of the pending activities of a workflow. */
interface Pending {
  activityId: string;
  activityType?: { name: string };
  attempt?: number;
  heartbeatDetails?: object;
  lastFailure?: { applicationFailureInfo?: { type?: string } };
}

/** What Temporal says about the attempt, in states that a real server shows only for moments. */
function temporalWith(pendingActivities: Pending[] | undefined) {
  const asked: unknown[] = [];
  const client = {
    options: {
      namespace: 'films',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    connection: {},
    workflowService: {
      describeWorkflowExecution: async (execution: unknown) => {
        asked.push(execution);
        return { pendingActivities };
      },
    },
    workflow: {
      getHandle: (workflowId: string, runId: string) => ({
        describe: async () => {
          asked.push({ workflowId, runId });
          return { raw: { pendingActivities } };
        },
      }),
    },
  };
  return { client, asked };
}

const workflowExecution = { workflowId: 'fox', runId: 'run-1' };
const undecryptedAfter = (attempt: number) => ({
  applicationFailureInfo: { type: `videogen.NotDecrypted.after-attempt-${attempt}` },
});

describe('attempts on workers that could not decrypt their input', () => {
  const earlierBy = (
    lastFailure: Pending['lastFailure'],
    heartbeatDetails?: unknown,
    more: Pending[] = [],
  ) => {
    const pending = [...more, { activityId: 'submit', ...(lastFailure && { lastFailure }) }];
    const { client, asked } = temporalWith(pending);
    const info = { attempt: 4, activityId: 'submit', workflowExecution, heartbeatDetails };
    return { ...startAttempt(readEarlierAttempts, undefined, info, [], client), asked };
  };

  test('sent nothing', async () => {
    const { result, asked } = earlierBy(undecryptedAfter(0));
    expect((await result).lostSubmit).toBeUndefined();
    expect(asked).toEqual([{ namespace: 'films', execution: workflowExecution }]);
  });

  test('do not hide the attempt before them that was killed', async () => {
    expect((await earlierBy(undecryptedAfter(1)).result).lostSubmit).toBe(lost(1));
    expect((await earlierBy(undecryptedAfter(2), { attemptWithoutTask: 1 }).result).lostSubmit).toBe(lost(2));
  });

  test('do not make a refusal before them a lost submit', async () => {
    expect(
      (await earlierBy(undecryptedAfter(1), { attemptWithoutTask: 1 }).result).lostSubmit,
    ).toBeUndefined();
  });

  test.each<[string, Pending['lastFailure']]>([
    ['failed otherwise', { applicationFailureInfo: { type: 'videogen.RateLimited' } }],
    ['failed without a type', { applicationFailureInfo: {} }],
    ['timed out', {}],
    ['left no failure', undefined],
  ])('are not those that %s', async (_what, lastFailure) => {
    expect((await earlierBy(lastFailure).result).lostSubmit).toBe(lost(3));
  });

  test('are not those of another activity', async () => {
    const other = { activityId: 'poll', lastFailure: undecryptedAfter(0) };
    expect((await earlierBy(undefined, undefined, [other]).result).lostSubmit).toBe(lost(3));
  });

  test('are not asked for when the last attempt noted how it ended', async () => {
    const { result, asked } = earlierBy(undecryptedAfter(0), { attemptWithoutTask: 3 });
    expect((await result).lostSubmit).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe('a submit that is pending while its job is cancelled', () => {
  const noted = (note: unknown) => ({
    heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(note)] },
  });
  const submit = (more: Partial<Pending>): Pending => ({
    activityId: '1',
    activityType: { name: 'submitVideo' },
    attempt: 1,
    ...more,
  });
  const inspect = (pending: Pending[] | undefined, activityId?: string, info = {}) =>
    startAttempt(
      inspectPendingSubmit,
      { ...(activityId !== undefined && { activityId }) },
      { isLocal: true, workflowExecution, ...info },
      [],
      temporalWith(pending).client,
    ).result;

  test('has its task', async () => {
    const other = { activityId: '0', activityType: { name: 'pollVideo' }, ...noted({ taskId: 'no' }) };
    expect(await inspect([other, submit(noted({ taskId: 'task-1' }))])).toEqual({ taskId: 'task-1' });
  });

  test('is lost while it is sending, at the service that the worker chose', async () => {
    const service = { name: 'a', key: 'old' };
    expect(await inspect([submit(noted({ sending: 1, service }))])).toEqual({ lostSubmit: lost(1), service });
    expect(await inspect([submit(noted({ sending: 1, taskId: 5 }))])).toEqual({ lostSubmit: lost(1) });
  });

  test('is lost if an attempt left nothing, unless that could not decrypt its input', async () => {
    expect(await inspect([submit({ attempt: 2 })])).toEqual({ lostSubmit: lost(1) });
    const undecrypted = submit({ attempt: 2, lastFailure: undecryptedAfter(0) });
    expect((await inspect([undecrypted])).lostSubmit).toBeUndefined();
  });

  test('of a batch is that of one item', async () => {
    const pending = [
      submit({ activityId: 'submit-1', ...noted({ taskId: 'of-1' }) }),
      submit({ activityId: 'submit-2', ...noted({ taskId: 'of-2' }) }),
    ];
    expect(await inspect(pending, 'submit-2')).toEqual({ taskId: 'of-2' });
    expect(await inspect(pending, 'submit-3')).toEqual({});
  });

  test('is none when Temporal has none', async () => {
    expect(await inspect([])).toEqual({});
    expect(await inspect(undefined)).toEqual({});
    const alone = { workflowExecution: undefined, inWorkflow: false };
    expect(await inspect([submit(noted({ taskId: 'task-1' }))], undefined, alone)).toEqual({});
  });
});
