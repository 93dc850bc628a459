import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { type KeptRuns, readEarlierRuns, searchEarlierRuns } from '../../../activities/submit/earlier-runs';
import { SERVICE_KEY_MEMO, SERVICE_MEMO, TASK_ID_MEMO } from '../../../src/contract/names';
import { startAttempt } from '../activity-world';

type Event = temporal.api.history.v1.IHistoryEvent;

/** What Temporal would still have of a run. A result is its own payload here. */
interface Run {
  events: Event[];
  memo?: Record<string, unknown>;
}

function kept(runs: Record<string, Run>): KeptRuns & { read: string[] } {
  const read: string[] = [];
  return {
    read,
    historyOf: async (runId) => {
      read.push(runId);
      return runs[runId] && { events: runs[runId].events };
    },
    memoOf: async (runId) => runs[runId]?.memo,
    decode: async (payloads) => JSON.parse(String(payloads?.payloads?.[0]?.data)),
  };
}

const resetFrom = (baseRunId: string): Event => ({ workflowTaskFailedEventAttributes: { baseRunId } });
const startedAfter = (continuedExecutionRunId: string, initiator: number): Event => ({
  workflowExecutionStartedEventAttributes: { continuedExecutionRunId, initiator },
});
const CONTINUED_AS_NEW = 1;
const RETRIED = 2;

const scheduled = (eventId: number, activityId = '1', name = 'submitVideo'): Event => ({
  // Temporal's ids are Longs, which print as numbers.
  eventId: eventId as never,
  activityTaskScheduledEventAttributes: { activityId, activityType: { name } },
});
const failedBy = (
  scheduledEventId: number,
  failure: temporal.api.failure.v1.IFailure | undefined,
): Event => ({
  activityTaskFailedEventAttributes: {
    scheduledEventId: scheduledEventId as never,
    ...(failure && { failure }),
  },
});
const failed = (scheduledEventId: number, type: string) =>
  failedBy(scheduledEventId, { applicationFailureInfo: { type } });
const completed = (scheduledEventId: number, result: unknown): Event => ({
  activityTaskCompletedEventAttributes: {
    scheduledEventId: scheduledEventId as never,
    result: { payloads: [{ data: Buffer.from(JSON.stringify(result)) }] },
  },
});

const IN_PROGRESS = { lostSubmit: 'run before ended while a request may have been in progress' };
const NOTHING = {};

/** The own run, reset from one with these events. */
const resetAfter = (...events: Event[]) =>
  kept({ own: { events: [resetFrom('before')] }, before: { events } });

describe('a job that was reset', () => {
  test('has the task that the memo of an earlier run names', async () => {
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [scheduled(5)], memo: { [TASK_ID_MEMO]: 'task-1' } },
    });
    expect(await searchEarlierRuns(['own'], runs)).toEqual({ taskId: 'task-1' });
  });

  test('has the name of the key of that task too', async () => {
    const memo = { [TASK_ID_MEMO]: 'task-1', [SERVICE_MEMO]: 'a', [SERVICE_KEY_MEMO]: 'old' };
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [scheduled(5)], memo },
    });
    const service = { name: 'a', key: 'old' };
    expect(await searchEarlierRuns(['own'], runs)).toEqual({ taskId: 'task-1', service });
  });

  test('does not take anything but text for a task', async () => {
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [scheduled(5)], memo: { [TASK_ID_MEMO]: 7 } },
    });
    expect(await searchEarlierRuns(['own'], runs)).toEqual(IN_PROGRESS);
  });

  test.each<[string, Event[], object]>([
    ['was never asked to submit', [], NOTHING],
    ['called only other activities', [scheduled(5, '1', 'pollVideo')], NOTHING],
    ['was refused for certain', [scheduled(5), failed(5, 'videogen.InvalidRequest')], NOTHING],
    ['lost its submit', [scheduled(5), failed(5, 'videogen.SubmitUnconfirmed')], IN_PROGRESS],
    ['failed in a way of its host', [scheduled(5), failed(5, 'InvalidRequest')], IN_PROGRESS],
    ['failed without saying how', [scheduled(5), failedBy(5, undefined)], IN_PROGRESS],
    ['failed in a way of the server', [scheduled(5), failedBy(5, { serverFailureInfo: {} })], IN_PROGRESS],
    ['ended during the submit', [scheduled(5)], IN_PROGRESS],
    [
      'was refused at first, and ended during a second submit',
      [scheduled(5), failed(5, 'videogen.RateLimited'), scheduled(9)],
      IN_PROGRESS,
    ],
    [
      'had another activity refused while it submitted',
      [scheduled(5), scheduled(6, '2', 'pollVideo'), failed(6, 'videogen.InvalidRequest')],
      IN_PROGRESS,
    ],
  ])('knows what became of the submit of a run that %s', async (_, events, known) => {
    expect(await searchEarlierRuns(['own'], resetAfter(...events))).toEqual(known);
  });

  test('may have submitted in a run that Temporal has deleted', async () => {
    const runs = kept({ own: { events: [resetFrom('before')] } });
    expect(await searchEarlierRuns(['own'], runs)).toEqual({
      lostSubmit: 'Temporal no longer has run before, so it is unknown whether a request was sent',
    });
  });

  test('does not count its own submits', async () => {
    const runs = kept({ own: { events: [scheduled(5)] }, resetToo: { events: [scheduled(5)] } });
    expect(await searchEarlierRuns(['own', 'resetToo'], runs)).toEqual(NOTHING);
    expect(runs.read).toEqual(['own', 'resetToo']);
  });
});

describe('the runs of a job that are read', () => {
  test('are all those that it was reset from, however often', async () => {
    const runs = kept({
      own: { events: [resetFrom('second')] },
      second: { events: [resetFrom('first')] },
      first: { events: [scheduled(5)] },
    });
    expect(await searchEarlierRuns(['own'], runs)).toEqual({
      lostSubmit: 'run first ended while a request may have been in progress',
    });
  });

  test.each<[string, Event]>([
    ['continued as new', { workflowExecutionContinuedAsNewEventAttributes: { newExecutionRunId: 'next' } }],
    ['failed and was retried', { workflowExecutionFailedEventAttributes: { newExecutionRunId: 'next' } }],
    [
      'timed out and was retried',
      { workflowExecutionTimedOutEventAttributes: { newExecutionRunId: 'next' } },
    ],
  ])('are also those after a run that %s', async (_, ending) => {
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [ending] },
      next: { events: [], memo: { [TASK_ID_MEMO]: 'task-2' } },
    });
    expect(await searchEarlierRuns(['own'], runs)).toEqual({ taskId: 'task-2' });
  });

  test('are those before a retry, but not those before it continued as new by itself', async () => {
    const first = { events: [scheduled(5)] };
    const retried = kept({ own: { events: [startedAfter('first', RETRIED)] }, first });
    expect((await searchEarlierRuns(['own'], retried)).lostSubmit).toContain('run first');
    const continued = kept({ own: { events: [startedAfter('first', CONTINUED_AS_NEW)] }, first });
    expect(await searchEarlierRuns(['own'], continued)).toEqual(NOTHING);
    expect(continued.read).toEqual(['own']);
  });

  test('are no runs without a name', async () => {
    const runs = kept({ own: { events: [resetFrom(''), startedAfter('', RETRIED)] } });
    await searchEarlierRuns(['own'], runs);
    expect(runs.read).toEqual(['own']);
  });
});

describe('an item of a batch that was reset', () => {
  const ofItem = { activityId: 'submit-2' };

  test('has the task that its own submit returned', async () => {
    const runs = resetAfter(
      scheduled(5, 'submit-1'),
      scheduled(6, 'submit-2'),
      completed(5, { taskId: 'of-1' }),
      completed(6, { taskId: 'of-2' }),
    );
    expect(await searchEarlierRuns(['own'], runs, ofItem)).toEqual({ taskId: 'of-2' });
  });

  test('takes nothing from the memo of the batch, nor from submits of other items', async () => {
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [scheduled(5, 'submit-1')], memo: { [TASK_ID_MEMO]: 'of-1' } },
    });
    expect(await searchEarlierRuns(['own'], runs, ofItem)).toEqual(NOTHING);
  });

  test.each([[{ taskId: 7 }], [null], ['task']])(
    'may have submitted when its submit returned %j',
    async (result) => {
      const runs = resetAfter(scheduled(6, 'submit-2'), completed(6, result));
      expect(await searchEarlierRuns(['own'], runs, ofItem)).toEqual(IN_PROGRESS);
    },
  );
});

describe('a job with several services that was reset', () => {
  const sentTo = (eventId: number, service: string): Event => {
    const { activityTaskScheduledEventAttributes: attributes, ...event } = scheduled(eventId);
    const data = Buffer.from(JSON.stringify({ service: { name: service } }));
    return {
      ...event,
      activityTaskScheduledEventAttributes: { ...attributes, input: { payloads: [{ data }] } },
    };
  };

  test('has its task at the service that the memo names', async () => {
    const runs = kept({
      own: { events: [resetFrom('before')] },
      before: { events: [scheduled(5)], memo: { [TASK_ID_MEMO]: 'task-1', [SERVICE_MEMO]: 'b' } },
    });
    expect(await searchEarlierRuns(['own'], runs)).toEqual({ taskId: 'task-1', service: { name: 'b' } });
  });

  test('has lost the submit that no refusal is known of, at its service', async () => {
    const runs = resetAfter(sentTo(5, 'a'), failed(5, 'videogen.Unauthorized'), sentTo(9, 'b'));
    expect(await searchEarlierRuns(['own'], runs)).toEqual({ ...IN_PROGRESS, service: { name: 'b' } });
  });

  test('as an item of a batch has the task that the submit returned, with its service', async () => {
    const made = { taskId: 'task-2', service: { name: 'b', key: 'new' } };
    const runs = resetAfter(scheduled(5, 'submit-1'), completed(5, made));
    expect(await searchEarlierRuns(['own'], runs, { activityId: 'submit-1' })).toEqual(made);
  });
});

describe('what Temporal has of the runs', () => {
  const NOT_FOUND = 5;
  const UNAVAILABLE = 14;
  const grpcError = (code: number) => Object.assign(new Error('grpc'), { code, details: '', metadata: {} });
  const deleted = new WorkflowNotFoundError('no such run', 'fox', undefined);

  /** A server with these runs of the workflow `fox`. */
  const temporalWith = (runs: Record<string, Run | Error>) => {
    const read = (workflowId: string, runId: string) => {
      const run = workflowId === 'fox' ? runs[runId] : undefined;
      if (run === undefined) throw deleted;
      if (run instanceof Error) throw run;
      return run;
    };
    return {
      options: { loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] } },
      workflow: {
        getHandle: (workflowId: string, runId: string) => ({
          fetchHistory: async () => ({ events: read(workflowId, runId).events }),
          describe: async () => {
            const { memo } = read(workflowId, runId);
            if (memo instanceof Error) throw memo;
            return { memo };
          },
        }),
      },
    };
  };
  const readRuns = (
    runs: Record<string, Run | Error>,
    more: { job?: string; resetRuns?: string[] } = {},
    info = {},
  ) =>
    startAttempt(
      readEarlierRuns,
      { resetRuns: [], ...more },
      { activityId: 'submit-2', workflowExecution: { workflowId: 'fox', runId: 'own' }, ...info },
      [],
      temporalWith(runs),
    ).result;
  const own = { events: [resetFrom('before')] };

  test('names the task of a job by its memo', async () => {
    const before = { events: [scheduled(5)], memo: { [TASK_ID_MEMO]: 'task-1' } };
    expect(await readRuns({ own, before })).toEqual({ taskId: 'task-1' });
  });

  test('names the task of an item by the result of its own submit', async () => {
    const result = { payloads: [defaultPayloadConverter.toPayload({ taskId: 'of-2' })] };
    const made: Event = { activityTaskCompletedEventAttributes: { scheduledEventId: 6 as never, result } };
    const before = { events: [scheduled(6, 'submit-2'), made], memo: { [TASK_ID_MEMO]: 'other' } };
    expect(await readRuns({ own, before }, { job: 'foxes-2' })).toEqual({ taskId: 'of-2' });
  });

  test('is also read from the runs before an earlier reset, whose own submits are known', async () => {
    const runs = {
      own: { events: [] },
      reset: { events: [resetFrom('before')] },
      before: { events: [scheduled(5)] },
    };
    expect(await readRuns(runs, { resetRuns: ['reset'] })).toEqual(IN_PROGRESS);
  });

  test.each([
    ['the client', deleted],
    ['the server', grpcError(NOT_FOUND)],
  ])('may be nothing, as %s says: then a task may exist', async (_what, error) => {
    expect((await readRuns({ own, before: error })).lostSubmit).toContain('no longer has run before');
  });

  test('may be deleted between two questions', async () => {
    const before = { events: [scheduled(5)], memo: deleted as object as Record<string, unknown> };
    expect(await readRuns({ own, before })).toEqual(IN_PROGRESS);
  });

  test('is unknown while Temporal cannot be reached, and the submit waits', async () => {
    await expect(readRuns({ own, before: grpcError(UNAVAILABLE) })).rejects.toThrow('grpc');
    await expect(readRuns({ own, before: new Error('no route') })).rejects.toThrow('no route');
  });

  test('is nothing for an activity without a workflow', async () => {
    const alone = { workflowExecution: undefined, inWorkflow: false };
    expect(await readRuns({ own }, {}, alone)).toEqual(NOTHING);
  });
});
