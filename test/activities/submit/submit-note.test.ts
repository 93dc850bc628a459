import { defaultPayloadConverter } from '@temporalio/common';
import { failureOf, notesOf, startAttempt } from '../activity-world';
import { useSubmitWorld } from './submit-world';

const here = useSubmitWorld();
const lost = (attempt: number) => `attempt ${attempt} ended before its answer was known`;
const SENDING = { id: 'send-1', attempt: 1 };
const workflowExecution = () => ({ workflowId: here.job, runId: 'run-1' });

/** What Temporal says of the pending activities of a workflow, in states that a real server shows only for moments. */
interface Pending {
  activityId: string;
  activityType?: { name: string };
  attempt?: number;
  heartbeatDetails?: object;
  lastFailure?: { applicationFailureInfo?: { type?: string } };
}
function temporalWith(pendingActivities: Pending[] | undefined) {
  const asked: unknown[] = [];
  const answer = (question: unknown) => {
    asked.push(question);
    return { pendingActivities };
  };
  const client = {
    options: {
      namespace: 'films',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    connection: {},
    workflow: {
      getHandle: (workflowId: string, runId: string) => ({
        describe: async () => ({ raw: answer({ workflowId, runId }) }),
      }),
    },
  };
  return { client, asked };
}
const undecryptedAfter = (attempt: number) => ({
  applicationFailureInfo: { type: `videogen.NotDecrypted.after-attempt-${attempt}` },
});

/** The failure of the lost submit that an attempt finds; undefined if it finds none, and sends. */
async function lostFor(info: object, client: object = { connection: {} }) {
  const attempt = here.submit({}, { info: { workflowExecution: workflowExecution(), ...info }, client });
  const task = await attempt.result.catch(() => undefined);
  if (task !== undefined) return undefined;
  const { failure, details } = await failureOf(attempt);
  expect(failure.type).toBe('SubmitUnconfirmed');
  expect(here.posts()).toBe(0);
  return details;
}

test('a refused attempt keeps what those before it have noted', async () => {
  here.emulator.next('submit', { kind: 'rate-limited' });
  const before = {
    attemptWithoutTask: 1,
    sends: [
      { id: 'send-0', attempt: 0, outcome: 'unclear' },
      { ...SENDING, service: 'a' },
    ],
  };
  const info = { attempt: 2, heartbeatDetails: before };
  const attempt = here.submit({ onLostSubmit: 'resubmit' }, { info });
  await failureOf(attempt);
  const [unclear, lostSend] = before.sends;
  const own = { id: expect.any(String), attempt: 2, service: 'a' };
  expect(notesOf(attempt)).toEqual([
    { sends: [unclear, lostSend, own] },
    { attemptWithoutTask: 2, sends: [unclear, { ...own, outcome: 'refused' }, lostSend] },
  ]);
});

test('of a note that somebody else wrote, only what has the right form counts', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'no' });
  const sends = [{ id: 'send-1', attempt: 1, outcome: 'not-sent', service: 5 }];
  const wrong = { attemptWithoutTask: 1, taskId: 2, sends };
  const attempt = here.submit({}, { info: { attempt: 2, heartbeatDetails: wrong } });
  const { failure, details } = await failureOf(attempt);
  expect([failure.type, details.mayHaveTask]).toEqual(['InvalidRequest', undefined]);
});

test('the note names the service of the request, and of the task', async () => {
  const attempt = here.submit({}, { deps: { defaultService: 'a' } });
  const { taskId } = await attempt.result;
  expect(notesOf(attempt)).toEqual([
    { sends: [{ id: expect.any(String), attempt: 1, service: 'a' }] },
    { taskId, service: 'a' },
  ]);
  const info = { attempt: 2, heartbeatDetails: attempt.beats.at(-1) };
  const second = here.submit({}, { info, deps: { defaultService: 'b' } });
  expect(await second.result).toMatchObject({ taskId, service: 'a' });
});

describe('a first attempt', () => {
  const scheduled = { scheduledTimestampMs: 1_000 };

  test.each([999, 1_001])('that was scheduled again, at %d, may come after another one', async (at) => {
    const details = await lostFor({ attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: at });
    expect(details?.message).toContain('was reset or paused in Temporal');
    expect(details?.lostSubmit).toBe('run-1/test/0');
  });

  test('that was scheduled once is the first', async () => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: 1_000 };
    expect(await lostFor(info)).toBeUndefined();
  });

  test('is the only one that may come after a reset: retries are scheduled later', async () => {
    const noted = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };
    expect(
      await lostFor({ ...noted, ...scheduled, currentAttemptScheduledTimestampMs: 9_000 }),
    ).toBeUndefined();
  });
});

describe('attempts on workers that could not decrypt their input', () => {
  const lostAfter = (
    lastFailure: Pending['lastFailure'],
    heartbeatDetails?: unknown,
    more: Pending[] = [],
  ) => {
    const { client, asked } = temporalWith([
      ...more,
      { activityId: 'submit', ...(lastFailure && { lastFailure }) },
    ]);
    return { details: lostFor({ attempt: 4, activityId: 'submit', heartbeatDetails }, client), asked };
  };

  test('sent nothing', async () => {
    const { details, asked } = lostAfter(undecryptedAfter(0));
    expect(await details).toBeUndefined();
    expect(asked).toEqual([workflowExecution()]);
  });

  test('do not hide the attempt before them that was killed', async () => {
    const first = await lostAfter(undecryptedAfter(1)).details;
    expect(first).toMatchObject({ message: lost(1), lostSubmit: 'run-1/submit/1' });
    const second = await lostAfter(undecryptedAfter(2), { attemptWithoutTask: 1 }).details;
    expect(second?.message).toBe(lost(2));
  });

  test('do not make a refusal before them a lost submit', async () => {
    expect(await lostAfter(undecryptedAfter(1), { attemptWithoutTask: 1 }).details).toBeUndefined();
  });

  test.each<[string, Pending['lastFailure']]>([
    ['failed otherwise', { applicationFailureInfo: { type: 'videogen.RateLimited' } }],
    ['failed without a type', { applicationFailureInfo: {} }],
    ['timed out', {}],
    ['left no failure', undefined],
  ])('are not those that %s', async (_what, lastFailure) => {
    expect((await lostAfter(lastFailure).details)?.message).toBe(lost(3));
  });

  test('are not those of another activity', async () => {
    const other = { activityId: 'poll', lastFailure: undecryptedAfter(0) };
    expect((await lostAfter(undefined, undefined, [other]).details)?.message).toBe(lost(3));
  });

  test('are not asked for when the last attempt noted how it ended', async () => {
    const { details, asked } = lostAfter(undecryptedAfter(0), { attemptWithoutTask: 3 });
    expect(await details).toBeUndefined();
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
  const inspect = (pending: Pending[] | undefined, info = {}) =>
    startAttempt(
      here.worker().inspectPendingSubmit,
      undefined,
      { isLocal: true, workflowExecution: workflowExecution(), ...info },
      [],
      temporalWith(pending).client,
    ).result;

  test('has its task, at the service that the note names', async () => {
    const other = { activityId: '0', activityType: { name: 'pollVideo' }, ...noted({ taskId: 'no' }) };
    const task = { taskId: 'task-1', service: 'a' };
    expect(await inspect([other, submit(noted(task))])).toEqual({ ...task, sends: [] });
  });

  test('may be lost while it is sending, with the id and the service of the send', async () => {
    const sends = [{ ...SENDING, service: 'a' }];
    expect(await inspect([submit(noted({ sends }))])).toEqual({ sends });
    expect(await inspect([submit(noted({ sends, taskId: 5 }))])).toEqual({ sends });
  });

  test('may be lost if an earlier attempt is, although the last one was refused', async () => {
    const note = { attemptWithoutTask: 2, sends: [SENDING] };
    expect(await inspect([submit({ attempt: 3, ...noted(note) })])).toEqual(note);
  });

  test('may be lost if an attempt left nothing, unless that could not decrypt its input', async () => {
    expect(await inspect([submit({ attempt: 2 })])).toEqual({
      sends: [{ id: 'run-1/test/1', attempt: 1 }],
    });
    expect(await inspect([submit({ attempt: 2, lastFailure: undecryptedAfter(0) })])).toBeUndefined();
  });

  test('is none when Temporal has none, or its attempts were refused', async () => {
    expect(await inspect([])).toBeUndefined();
    expect(await inspect(undefined)).toBeUndefined();
    const refused = { attemptWithoutTask: 1, sends: [{ ...SENDING, outcome: 'refused' }] };
    expect(await inspect([submit({ attempt: 2, ...noted(refused) })])).toBeUndefined();
    const alone = { workflowExecution: undefined, inWorkflow: false };
    expect(await inspect([submit(noted({ taskId: 'task-1' }))], alone)).toBeUndefined();
  });
});
