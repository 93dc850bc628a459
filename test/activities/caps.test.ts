import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import type { SubmittedTask, SubmitVideoInput, VideoActivities } from '../../activities';
import { ledgersInTemporal } from '../../activities/ledger-client';
import { type Caps, type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../../src/contract/caps';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { Money } from '../../src/contract/money';
import type { VideoRequest } from '../../src/contract/request';
import { ServiceFault, type ServiceProfile, type TaskReading } from '../../src/service';
import { JobRecord } from '../../src/storage';
import { Ledger } from '../../workflows/ledger';
import { type Attempt, asJob, failureOf, notesOf, startAttempt } from './activity-world';
import { createMemoryWorld, inMemory, reading, SUCCEEDED } from './memory-world';
import { following } from './submit-world';

type Answer = (entries: LedgerEntry[]) => LedgerAnswer[] | Promise<LedgerAnswer[]>;

interface SentUpdate {
  workflowId: string;
  taskQueue: string;
  entries: LedgerEntry[];
}

/** The client of a Temporal that answers the updates of its ledgers as a test says, and what was sent to it. */
function temporalWithLedgers(answer: Answer) {
  const sent: SentUpdate[] = [];
  const client = {
    options: { namespace: 'films' },
    connection: {},
    withDeadline: async (_untilMs: number, call: () => Promise<unknown>) => call(),
    workflow: {
      executeUpdateWithStart: async (
        _update: string,
        {
          args: [entries],
          startWorkflowOperation: { options },
        }: {
          args: [LedgerEntry[]];
          startWorkflowOperation: { options: { workflowId: string; taskQueue: string } };
        },
      ) => {
        const { workflowId, taskQueue } = options;
        sent.push({ workflowId, taskQueue, entries });
        return answer(entries);
      },
    },
  };
  return { client, sent };
}

const REQUEST: VideoRequest = { prompt: 'A red fox', duration: 5 };
const usd = (amount: number) => ({ amount, currency: 'USD' });
const PRICED: ServiceProfile = { prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } };
const LOST = new ServiceFault('cut', {});
const REFUSED = new ServiceFault('answered', { status: 400 });
const FAILED = new ServiceFault('answered', { status: 500 });

let stored: Map<string, Buffer>;
/** How the next requests end, which otherwise make tasks; and how many were sent. */
let faults: ServiceFault[];
let posts: number;
let ledger: Ledger;
let temporal: ReturnType<typeof temporalWithLedgers>;
beforeEach(() => {
  stored = new Map();
  faults = [];
  posts = 0;
  ledger = new Ledger(Date.now());
  temporal = temporalWithLedgers(count);
});

const count = (entries: LedgerEntry[]): LedgerAnswer[] => ledger.write(entries, Date.now());
/** A ledger that cannot be told what a submit cost. */
const onlyReserve = (entries: LedgerEntry[]): LedgerAnswer[] => {
  if (entries.some((entry) => 'cost' in entry)) throw new Error('no worker');
  return count(entries);
};

interface Setup {
  caps?: Caps;
  profile?: ServiceProfile;
  onLostSubmit?: LostSubmitPolicy;
  /** What polls find. */
  task?: TaskReading;
}

/** A worker with these caps, at the one ledger of the test. */
function workerWith({ profile, task = SUCCEEDED, ...worker }: Setup) {
  const start = async () => {
    posts += 1;
    const fault = faults.shift();
    if (fault) throw fault;
    return { taskId: `task-${posts}` };
  };
  const service = { profile, start, status: async () => task };
  const storage = inMemory(stored);
  const { submitVideo, pollVideo, adoptTask } = createMemoryWorld(undefined, {
    service,
    storage,
    ...worker,
  }).activities;
  const run = <I, T>(activity: (input: I) => Promise<T>, input: I, job: string, info = {}) =>
    startAttempt(activity, input, { ...asJob(job), ...info }, [], temporal.client);
  type Poll = Parameters<VideoActivities['pollVideo']>[0];
  return {
    submit: (job: string, more: Partial<SubmitVideoInput> = {}, info = {}) =>
      run(submitVideo, { request: REQUEST, ...more }, job, info),
    poll: async (job: string, { taskId, record }: SubmittedTask, more: Partial<Poll> = {}) => {
      const status = await run(pollVideo, { taskId, ...(record && { record }), ...more }, job).result;
      // A poll does not wait for the ledger.
      await new Promise((resolve) => setImmediate(resolve));
      return status;
    },
    adopt: (job: string, taskId: string) => run(adoptTask, { taskId, request: REQUEST }, job).result,
  };
}
const submitter = (setup: Setup) => workerWith(setup).submit;

const counted = () => ledger.report().counts.map(({ used, reserved }) => [used.videos, reserved.videos]);

/** The ids that whoever decides to repeat the lost submit gives. */
async function loseSubmit(submit: Attempt<unknown>): Promise<string[]> {
  const { failure, details } = await failureOf(submit);
  expect(failure.type).toBe('SubmitUnconfirmed');
  return [String(details.lostSubmit)];
}

test('a job without a cap writes nothing into the ledger', async () => {
  const { submit, poll } = workerWith({ profile: PRICED });
  await poll('fox', await submit('fox').result);
  expect(temporal.sent).toEqual([]);
});

test('a submit reserves before its POST; the next one is refused before a byte is sent', async () => {
  const submit = submitter({ caps: { day: { videos: 1 } } });
  await submit('fox-1').result;
  expect(counted()).toEqual([[0, 1]]);
  const refused = submit('fox-2');
  const { failure, details } = await failureOf(refused);
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: true });
  expect(details).toMatchObject({ cap: 'day.videos', capLeft: 0 });
  expect(details).not.toHaveProperty('advice');
  expect(posts).toBe(1);
  expect(notesOf(refused)).toEqual([{ attemptWithoutTask: 1 }]);
});

test.each([
  ['the service refused', REFUSED],
  ['the service failed at', FAILED],
])('a submit that %s is not counted', async (_what, fault) => {
  faults = [fault];
  const submit = submitter({ caps: { day: { videos: 1 } } });
  await failureOf(submit('fox-1'));
  expect(counted()).toEqual([[0, 0]]);
  await submit('fox-2').result;
});

test('the worker counts in the ledger of the queue of the workflow', async () => {
  const submit = submitter({ caps: { day: { videos: 9 } }, profile: PRICED });
  await submit('fox', { ledgerQueue: 'films' }, { taskQueue: 'own' }).result;
  await submit('hare', {}, { taskQueue: 'own' }).result;
  expect(temporal.sent).toMatchObject([
    { workflowId: 'videogen-ledger-films', taskQueue: 'films' },
    { workflowId: 'videogen-ledger-own', taskQueue: 'own' },
  ]);
  expect(temporal.sent[0]?.entries).toMatchObject([{ takes: { videos: 1, seconds: 5, USD: 0.5 } }]);
});

test('a lost submit is counted beside the decided resubmit, and the cost of the job says so', async () => {
  faults = [LOST];
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  expect(counted()).toEqual([[0, 1]]);
  const { cost } = await submit('fox', { repeats }, { activityId: 'decided' }).result;
  expect(counted()).toEqual([[0, 2]]);
  expect(cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
});

test('a lost submit stays counted when the service refuses the decided resubmit, also under the own cap of a later job', async () => {
  faults = [LOST, REFUSED];
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  const { details } = await failureOf(submit('fox', { repeats }, { activityId: 'decided' }));
  expect(counted()).toEqual([[0, 1]]);
  expect(details.cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
  const { failure } = await failureOf(submit('fox', { cap: { videos: 1 } }, { activityId: 'later' }));
  expect(failure.type).toBe('CapReached');
  expect(posts).toBe(2);
});

test('a lost submit counts under the own cap of its job, however often somebody decides to repeat it', async () => {
  faults = [LOST, LOST];
  const submit = submitter({});
  const cap = { videos: 2 };
  const first = await loseSubmit(submit('fox', { cap }));
  const second = await loseSubmit(submit('fox', { cap, repeats: first }, { activityId: 'decided' }));
  const repeats = [...first, ...second];
  const { failure } = await failureOf(submit('fox', { cap, repeats }, { activityId: 'again' }));
  expect(failure.type).toBe('CapReached');
  expect(posts).toBe(2);
});

test('a lost submit is not repeated by itself under a cap of one video, which never resets', async () => {
  faults = [LOST];
  const submit = submitter({ onLostSubmit: 'resubmit' });
  const cap = { videos: 1 };
  const first = submit('fox', { cap });
  await failureOf(first);
  const { failure, details } = await failureOf(submit('fox', { cap }, following(first).info));
  expect([failure.type, details.cap, details.capLeft]).toEqual(['CapReached', 'job.videos', 0]);
  expect(details.capResetsAt).toBeUndefined();
  expect(failure.message).toContain('a task may still exist');
  expect(posts).toBe(1);
});

test('a ledger that cannot be reached keeps the request from being sent, and Temporal tries again', async () => {
  temporal = temporalWithLedgers(() => Promise.reject(new Error('no worker')));
  const { failure } = await failureOf(submitter({ caps: { day: { videos: 1 } } })('fox'));
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: false });
  expect(failure.message).toContain(
    'nothing was sent, because the ledger of the caps cannot be reached: no worker',
  );
  expect(posts).toBe(0);
});

test('a ledger that a refusal could not be given back to counts the retry beside it, never below what was paid', async () => {
  faults = [FAILED];
  temporal = temporalWithLedgers(onlyReserve);
  const caps = { day: { videos: 2 } };
  const first = submitter({ caps })('fox');
  await failureOf(first);
  await submitter({ caps })('fox', {}, following(first).info).result;
  expect(counted()).toEqual([[0, 2]]);
});

test('caps of the day, the key and the batch count together', async () => {
  const caps = { day: { videos: 9 }, key: { videos: 9 }, keys: { web_shop: { seconds: 8 } } };
  const submit = submitter({ caps });
  const input = { caller: 'web_shop', sharedCap: { name: 'foxes', cap: { videos: 9 } } };
  await submit('foxes-1', input).result;
  const { details } = await failureOf(submit('foxes-2', input));
  expect(details).toMatchObject({
    cap: 'key.seconds',
    capLeft: 3,
    message: expect.stringContaining(
      'the daily cap of 8 seconds for the gateway key web_shop has 3 seconds left, and this video takes 5 seconds; it resets at',
    ),
  });
  expect(ledger.report().counts.map(({ scope, name }) => [scope, name])).toEqual([
    ['batch', 'foxes'],
    ['key', 'web_shop'],
    ['day', undefined],
  ]);
});

test.each<[string, Setup, Partial<SubmitVideoInput>, string]>([
  [
    'money, without prices',
    { caps: { day: { money: usd(1) } } },
    {},
    'the cost of the video is not known: the profile of the service has no prices, and there is a cap on money (day.money)',
  ],
  [
    'money in another currency',
    { caps: { job: { money: { amount: 5, currency: 'credits' } } }, profile: PRICED },
    {},
    'the cost of the video is in USD and the cap in credits, and there is a cap on money (job.money)',
  ],
  [
    'seconds, for a request without a duration',
    { caps: { day: { seconds: 10 } } },
    { request: { prompt: 'A red fox' } },
    'the duration of the video is not known: the request has none, and there is a cap on seconds (day.seconds)',
  ],
])('under a cap on %s, nothing is sent', async (_what, setup, input, message) => {
  const { failure, details } = await failureOf(submitter(setup)('fox', input));
  expect([failure.type, failure.nonRetryable, details.message]).toEqual(['CapReached', true, message]);
  expect(details.capLeft).toBeUndefined();
  expect(posts).toBe(0);
});

describe('when a task has ended, a poll', () => {
  const caps = { day: { videos: 9, money: usd(9) } };
  const used = () => ledger.report().counts.map((account) => [account.used, account.reserved.videos]);
  /** A worker whose polls find the task ended so, and what the service has charged for it. */
  const workerAfter = (state: 'succeeded' | 'failed', charged?: Money) => {
    const { task } = state === 'succeeded' ? SUCCEEDED : reading({ state, word: 'failed' });
    return workerWith({ caps, profile: PRICED, task: reading(task, charged && { charged }) });
  };
  /** What the record says that the task cost. */
  const recordedCost = async ({ record = '' }: SubmittedTask) => {
    const { task } = await new JobRecord(inMemory(stored), { namespace: 'test', job: 'fox' }, record).read();
    return task?.cost;
  };

  test.each([
    ['what the service charged for the video', usd(0.3), 0.3],
    ['the estimate if the service does not say what it charged', undefined, 0.5],
  ])('counts %s, once, however often the task is polled', async (_what, charged, USD) => {
    const { submit, poll } = workerAfter('succeeded', charged);
    const task = await submit('fox').result;
    await poll('fox', { ...task, taskId: 'another' });
    expect(used()).toMatchObject([[{ videos: 0 }, 1]]);
    for (const _ of [1, 2]) await poll('fox', task);
    expect(used()).toEqual([[{ videos: 1, seconds: 5, USD }, 0]]);
    // What a video cost is recorded with it.
    expect(await recordedCost(task)).toEqual(task.cost);
  });

  test('records what a failed task was charged also without a cap', async () => {
    const { submit, poll } = workerWith({
      task: reading({ state: 'failed', word: 'no' }, { charged: usd(0.2) }),
    });
    const task = await submit('fox').result;
    await poll('fox', task);
    expect(await recordedCost(task)).toEqual({ charged: usd(0.2) });
    expect(temporal.sent).toEqual([]);
  });

  test('counts a task that failed and was not charged as nothing, in the caps and in the record', async () => {
    const { submit, poll } = workerAfter('failed', usd(0));
    const task = await submit('fox').result;
    expect(await recordedCost(task)).toEqual(task.cost);
    for (const _ of [1, 2])
      expect(await poll('fox', task)).toMatchObject({ state: 'failed', charged: usd(0) });
    expect(used()).toEqual([[{ videos: 0 }, 0]]);
    expect(await recordedCost(task)).toEqual({ ...task.cost, charged: usd(0) });
    // A later job of this name finds the same task, with what it cost.
    expect((await submit('fox').result).cost).toEqual({ ...task.cost, charged: usd(0) });
  });

  test('counts the lost submit that a free task repeated, however often the task is polled', async () => {
    const { submit, poll } = workerAfter('failed', usd(0));
    faults = [LOST];
    const repeats = await loseSubmit(submit('fox'));
    const task = await submit('fox', { repeats }, { activityId: 'decided' }).result;
    for (const _ of [1, 2]) await poll('fox', task);
    expect(counted()).toEqual([[0, 1]]);
    expect(await recordedCost(task)).toMatchObject({ charged: usd(0), lostSubmits: 1 });
  });

  test('counts a lost submit as nothing once its task is adopted and was not charged', async () => {
    const { submit, poll, adopt } = workerAfter('failed', usd(0));
    faults = [LOST];
    await loseSubmit(submit('fox'));
    const task = await adopt('fox', 'task-1');
    await poll('fox', task);
    expect(counted()).toEqual([[0, 0]]);
    expect(await recordedCost(task)).toMatchObject({ charged: usd(0) });
  });

  test('returns the status although neither the ledger nor the storage can be reached', async () => {
    temporal = temporalWithLedgers(onlyReserve);
    const { submit, poll } = workerAfter('succeeded');
    const task = await submit('fox').result;
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    stored.clear();
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    expect(counted()).toEqual([[0, 1]]);
  });
});

const entry = (id: string): LedgerEntry => ({
  id,
  accounts: [{ scope: 'day', limits: [{ unit: 'videos', limit: 1 }] }],
  takes: { videos: 1 },
});
const FULL: LedgerAnswer = { refused: { message: 'full' } };
const allOk = (entries: LedgerEntry[]): LedgerAnswer[] => entries.map(() => ({ ok: true }));

/** What a process writes into the ledgers of a Temporal that answers updates so. */
function ledgersThat(answer: Answer) {
  const { client, sent } = temporalWithLedgers(answer);
  return { ...ledgersInTemporal(() => client as object as Client), sent };
}

test('what comes up during an update of a ledger goes into the next one together, and no more than fits', async () => {
  const { write, sent } = ledgersThat(async (entries) => {
    await new Promise(setImmediate);
    return allOk(entries);
  });
  const first = write('foxes', entry('first'));
  await Promise.resolve();
  const rest = Array.from({ length: MOST_ENTRIES + 1 }, (_, id) => write('foxes', entry(`${id}`)));
  await Promise.all([first, ...rest, write('wolves', entry('of another queue'))]);
  const sizes = sent.map(({ taskQueue, entries }) => [taskQueue, entries.length]);
  expect(sizes).toEqual(expect.arrayContaining([['wolves', 1]]));
  expect(sizes.filter(([queue]) => queue === 'foxes').map(([, size]) => size)).toEqual([1, MOST_ENTRIES, 1]);
});

test('an update that fails fails those who wait for it, and its reservations are given back with the next', async () => {
  let updates = 0;
  const { write, sent } = ledgersThat((entries) => {
    if (++updates === 1) throw new WorkflowUpdateFailedError('gone', undefined);
    return entries.map((one) => ('cost' in one ? { ok: true } : FULL));
  });
  const writes = [
    entry('a'),
    { id: 'b', cost: 'nothing' as const },
    { id: 'paid', cost: 'estimate' as const },
  ];
  const lost = await Promise.allSettled(writes.map((one) => write('foxes', one)));
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await write('foxes', entry('c'))).toEqual(FULL);
  // A task that was paid for is never given back.
  const written = sent.at(-1)?.entries.map((one) => [one.id, 'cost' in one ? one.cost : 'reserved']);
  expect(written).toEqual([
    ['a', 'nothing'],
    ['b', 'nothing'],
    ['paid', 'estimate'],
    ['c', 'reserved'],
  ]);
});

test('what a ledger could not be told is kept up to a limit: the oldest reservations stay counted', async () => {
  let isReached = false;
  const { write, sent } = ledgersThat((entries) => {
    if (!isReached) throw new WorkflowUpdateFailedError('gone', undefined);
    return allOk(entries);
  });
  for (let failed = 0; failed < 2; failed++)
    await Promise.allSettled(
      Array.from({ length: MOST_ENTRIES }, (_, id) => write('foxes', entry(`${failed}-${id}`))),
    );
  isReached = true;
  await write('foxes', entry('last'));
  const ids = sent.at(-1)?.entries.map(({ id }) => id) ?? [];
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([MOST_ENTRIES + 1, '1-0', 'last']);
});
