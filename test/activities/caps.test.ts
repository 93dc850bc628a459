import { rm } from 'node:fs/promises';
import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import {
  createVideoActivities,
  type SubmittedTask,
  type SubmitVideoInput,
  type VideoActivities,
} from '../../activities';
import { ledgersInTemporal } from '../../activities/ledger-client';
import { run } from '../../src/cli/run';
import { type Caps, type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../../src/contract/caps';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import type { ServiceProfile } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { Ledger } from '../../workflows/ledger';
import { FakeTerminal } from '../cli/fake-terminal';
import {
  type ActivityWorld,
  type Attempt,
  asJob,
  createActivityWorld,
  failureOf,
  notesOf,
  startAttempt,
} from './activity-world';

type Answer = (entries: LedgerEntry[]) => LedgerAnswer[] | Promise<LedgerAnswer[]>;

interface SentUpdate {
  workflowId: string;
  taskQueue: string;
  args: unknown[];
  entries: LedgerEntry[];
  deadline: number;
}

/** The client of a Temporal that answers the updates of its ledgers as a test says, and what was sent to it. */
function temporalWithLedgers(answer: Answer) {
  const sent: SentUpdate[] = [];
  let deadline = 0;
  const client = {
    options: { namespace: 'films' },
    connection: {},
    withDeadline: async (untilMs: number, call: () => Promise<unknown>) => {
      deadline = untilMs;
      return call();
    },
    workflow: {
      executeUpdateWithStart: async (
        _update: string,
        {
          args: [entries],
          startWorkflowOperation: { options },
        }: {
          args: [LedgerEntry[]];
          startWorkflowOperation: { options: { workflowId: string; taskQueue: string; args: unknown[] } };
        },
      ) => {
        const { workflowId, taskQueue, args } = options;
        sent.push({ workflowId, taskQueue, args, entries, deadline });
        return answer(entries);
      },
    },
  };
  return { client, sent };
}

const REQUEST: VideoRequest = { prompt: 'A red fox', duration: 5 };
const usd = (amount: number) => ({ amount, currency: 'USD' });
const PRICED: ServiceProfile = { prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } };

let world: ActivityWorld;
let ledger: Ledger;
let temporal: ReturnType<typeof temporalWithLedgers>;
beforeEach(async () => {
  world = await createActivityWorld();
  ledger = new Ledger(Date.now());
  temporal = temporalWithLedgers(count);
});
afterEach(() => world.close());

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
}

/** A worker with these caps, at the one ledger of the test. */
function workerWith({ profile, ...worker }: Setup) {
  const service = world.serviceAt(world.emulator.url, { profile });
  const storage = createFileStorage(world.folder);
  const { submitVideo, pollVideo, adoptTask } = createVideoActivities({ service, storage, ...worker });
  const start = <I, T>(activity: (input: I) => Promise<T>, input: I, job: string, info = {}) =>
    startAttempt(activity, input, { ...asJob(job), ...info }, [], temporal.client);
  type Poll = Parameters<VideoActivities['pollVideo']>[0];
  return {
    submit: (job: string, more: Partial<SubmitVideoInput> = {}, info = {}) =>
      start(submitVideo, { request: REQUEST, ...more }, job, info),
    poll: async (job: string, { taskId, record }: SubmittedTask, more: Partial<Poll> = {}) => {
      const status = await start(pollVideo, { taskId, ...(record && { record }), ...more }, job).result;
      // A poll does not wait for the ledger.
      await new Promise((resolve) => setImmediate(resolve));
      return status;
    },
    adopt: (job: string, taskId: string) => start(adoptTask, { taskId, request: REQUEST }, job).result,
  };
}
const submitter = (setup: Setup) => workerWith(setup).submit;

const counted = () => ledger.report().counts.map(({ used, reserved }) => [used.videos, reserved.videos]);
const posts = () => world.emulator.calls.length;

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
  expect(posts()).toBe(1);
  expect(notesOf(refused)).toEqual([{ attemptWithoutTask: 1 }]);
});

test.each([
  ['the service refused', { kind: 'refused', status: 400, message: 'no foxes' }],
  ['the service failed at', { kind: 'server-error' }],
] as const)('a submit that %s is not counted', async (_what, fault) => {
  world.emulator.next('submit', fault);
  const submit = submitter({ caps: { day: { videos: 1 } } });
  await failureOf(submit('fox-1'));
  expect(counted()).toEqual([[0, 0]]);
  await submit('fox-2').result;
});

test('the worker counts in the ledger of the queue of the workflow', async () => {
  const submit = submitter({ caps: { day: { videos: 9 } }, profile: PRICED });
  await submit('fox', { ledgerQueue: 'films' }, { taskQueue: 'own' }).result;
  await submit('hare', {}, { taskQueue: 'own' }).result;
  expect(temporal.sent.map(({ taskQueue }) => taskQueue)).toEqual(['films', 'own']);
  expect(temporal.sent[0]?.entries).toMatchObject([{ takes: { videos: 1, seconds: 5, USD: 0.5 } }]);
});

test('a lost submit is counted beside the decided resubmit, and the cost of the job says so', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  expect(counted()).toEqual([[0, 1]]);
  const { cost } = await submit('fox', { repeats }, { activityId: 'decided' }).result;
  expect(counted()).toEqual([[0, 2]]);
  expect(cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
});

test('a lost submit is counted beside the submit that repeats it by itself', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ caps: { day: { videos: 2 } }, onLostSubmit: 'resubmit' });
  const first = submit('fox');
  await failureOf(first);
  await submit('fox', {}, { attempt: 2, heartbeatDetails: first.beats.at(-1) }).result;
  expect(counted()).toEqual([[0, 2]]);
  expect(posts()).toBe(2);
});

test('a lost submit stays counted when the service refuses the decided resubmit', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  world.emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  const { details } = await failureOf(submit('fox', { repeats }, { activityId: 'decided' }));
  expect(counted()).toEqual([[0, 1]]);
  expect(details.cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
});

test('a lost submit counts under the own cap of its job, however often somebody decides to repeat it', async () => {
  world.emulator.next('submit', { kind: 'reset' }, { kind: 'reset' });
  const submit = submitter({});
  const cap = { videos: 2 };
  const first = await loseSubmit(submit('fox', { cap }));
  const second = await loseSubmit(submit('fox', { cap, repeats: first }, { activityId: 'decided' }));
  const repeats = [...first, ...second];
  const { failure } = await failureOf(submit('fox', { cap, repeats }, { activityId: 'again' }));
  expect(failure.type).toBe('CapReached');
  expect(posts()).toBe(2);
});

test('a lost submit counts under the own cap of a later job of the name, although its repetition was refused', async () => {
  world.emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 400, message: 'no foxes' });
  const submit = submitter({});
  const repeats = await loseSubmit(submit('fox'));
  await failureOf(submit('fox', { repeats }, { activityId: 'decided' }));
  const { failure } = await failureOf(submit('fox', { cap: { videos: 1 } }, { activityId: 'later' }));
  expect(failure.type).toBe('CapReached');
  expect(posts()).toBe(2);
});

test('a lost submit is not repeated by itself under a cap of one video, which never resets', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ onLostSubmit: 'resubmit' });
  const cap = { videos: 1 };
  const first = submit('fox', { cap });
  await failureOf(first);
  const second = submit('fox', { cap }, { attempt: 2, heartbeatDetails: first.beats.at(-1) });
  const { failure, details } = await failureOf(second);
  expect([failure.type, details.cap, details.capLeft]).toEqual(['CapReached', 'job.videos', 0]);
  expect(details.capResetsAt).toBeUndefined();
  expect(failure.message).toContain('a task may still exist');
  expect(posts()).toBe(1);
});

test('a ledger that cannot be reached keeps the request from being sent, and Temporal tries again', async () => {
  temporal = temporalWithLedgers(() => Promise.reject(new Error('no worker')));
  const { failure } = await failureOf(submitter({ caps: { day: { videos: 1 } } })('fox'));
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: false });
  expect(failure.message).toContain(
    'nothing was sent, because the ledger of the caps cannot be reached: no worker',
  );
  expect(posts()).toBe(0);
});

test('a ledger that a refusal could not be given back to counts the retry beside it, never below what was paid', async () => {
  world.emulator.next('submit', { kind: 'server-error' });
  temporal = temporalWithLedgers(onlyReserve);
  const caps = { day: { videos: 2 } };
  const first = submitter({ caps })('fox');
  await failureOf(first);
  await submitter({ caps })('fox', {}, { attempt: 2, heartbeatDetails: first.beats.at(-1) }).result;
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

const IN_CREDITS = { amount: 5, currency: 'credits' };

test.each<[string, Setup, Partial<SubmitVideoInput>, string]>([
  [
    'money, without prices',
    { caps: { day: { money: usd(1) } } },
    {},
    'the cost of the video is not known: the profile of the service has no prices, and there is a cap on money (day.money)',
  ],
  [
    'money in another currency',
    { caps: { job: { money: IN_CREDITS } }, profile: PRICED },
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
  expect(posts()).toBe(0);
});

/** What `videogen spend` finds in the storage. */
async function spent() {
  const terminal = new FakeTerminal({ VIDEOGEN_STORAGE: world.folder, TEMPORAL_NAMESPACE: 'test' });
  expect(await run(['spend', '--since', '1970-01-02', '--json'], terminal)).toBe(0);
  expect(terminal.stderr).toBe('');
  const { videos, charged, estimated } = JSON.parse(terminal.stdout);
  return { videos, charged, estimated };
}

describe('when a task has ended, a poll', () => {
  const FAILED_TASK = { kind: 'failed-task', code: 'internal', message: 'no foxes today' } as const;
  const caps = { day: { videos: 9, money: usd(9) } };
  const used = () => ledger.report().counts.map((account) => [account.used, account.reserved.videos]);

  const atCharge = async (charge?: number) => {
    await world.close();
    world = await createActivityWorld(charge === undefined ? {} : { charge });
    return workerWith({ caps, profile: PRICED });
  };

  test.each([
    ['what the service charged for the video', 0.3, 0.3],
    ['the estimate if the service does not say what it charged', undefined, 0.5],
  ])('counts %s, once, however often the task is polled', async (_what, charge, USD) => {
    const { submit, poll } = await atCharge(charge);
    const task = await submit('fox').result;
    for (const _ of [1, 2]) await poll('fox', task);
    expect(used()).toEqual([[{ videos: 1, seconds: 5, USD }, 0]]);
  });

  test('counts a task that failed and was not charged as nothing, in the caps and in the record', async () => {
    const { submit, poll } = await atCharge(0.3);
    world.emulator.next('submit', FAILED_TASK);
    const task = await submit('fox').result;
    expect(await spent()).toMatchObject({ videos: 1, estimated: [usd(0.5)] });
    expect(await poll('fox', task)).toMatchObject({ state: 'failed', charged: usd(0) });
    await poll('fox', task);
    expect(used()).toEqual([[{ videos: 0 }, 0]]);
    expect(await spent()).toEqual({ videos: 1, charged: [usd(0)], estimated: [] });
    // A later job of this name finds the same task, with what it cost.
    expect((await submit('fox').result).cost).toEqual({ ...task.cost, charged: usd(0) });
  });

  test('counts the lost submit that a free task repeated, however often the task is polled', async () => {
    const { submit, poll } = await atCharge(0.3);
    world.emulator.next('submit', { kind: 'reset' }, FAILED_TASK);
    const repeats = await loseSubmit(submit('fox'));
    const task = await submit('fox', { repeats }, { activityId: 'decided' }).result;
    for (const _ of [1, 2]) await poll('fox', task);
    expect(counted()).toEqual([[0, 1]]);
    expect(await spent()).toEqual({ videos: 2, charged: [usd(0)], estimated: [usd(0.5)] });
  });

  test('counts a lost submit as nothing once its task is adopted and was not charged', async () => {
    const { submit, poll, adopt } = await atCharge(0.3);
    world.emulator.next('submit', { kind: 'reset-late', ms: 10 });
    world.emulator.next('status', FAILED_TASK);
    await loseSubmit(submit('fox'));
    const taskId = String(world.emulator.generations()[0]?.taskId);
    await poll('fox', await adopt('fox', taskId));
    expect(counted()).toEqual([[0, 0]]);
    expect(await spent()).toEqual({ videos: 1, charged: [usd(0)], estimated: [] });
  });

  test('returns the status although neither the ledger nor the storage can be reached', async () => {
    temporal = temporalWithLedgers(onlyReserve);
    const { submit, poll } = workerWith({ caps, profile: PRICED });
    const task = await submit('fox').result;
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    await rm(world.folder, { recursive: true });
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    expect(counted()).toEqual([[0, 1]]);
  });
});

const entry = (id: string): LedgerEntry => ({
  id,
  accounts: [{ scope: 'day', limits: [{ unit: 'videos', limit: 1 }] }],
  takes: { videos: 1 },
});

/** The ledgers of a Temporal that answers updates as each test says. */
function ledgersThat(answer: Parameters<typeof temporalWithLedgers>[0]) {
  const { client, sent } = temporalWithLedgers(answer);
  const { write } = ledgersInTemporal(() => client as object as Client);
  const ids = () =>
    sent.map(({ entries }) => entries.map((one) => `${'cost' in one ? one.cost : 'reserve'} ${one.id}`));
  return { write, sent, ids };
}

const allOk = (entries: LedgerEntry[]): LedgerAnswer[] => entries.map(() => ({ ok: true }));
/** An error that ends an update at once. */
const gone = () => new WorkflowUpdateFailedError('gone', undefined);
const many = (count: number, name = '') => Array.from({ length: count }, (_, id) => entry(`${name}${id}`));

/** Fails the first update, and answers the others. */
function ledgersThatFailFirst() {
  let updates = 0;
  return ledgersThat((entries) => {
    if (++updates === 1) throw gone();
    return allOk(entries);
  });
}

test('what comes up during an update goes into the next one together, and no more than fits', async () => {
  const ledgers = ledgersThat(async (entries) => {
    await new Promise(setImmediate);
    return allOk(entries);
  });
  const first = ledgers.write('foxes', entry('first'));
  await Promise.resolve();
  const rest = many(MOST_ENTRIES + 1).map((one) => ledgers.write('foxes', one));
  await Promise.all([first, ...rest]);
  expect(ledgers.sent.map(({ entries }) => entries.length)).toEqual([1, MOST_ENTRIES, 1]);
});

test('an update that fails fails those who wait for it, and its reservations are given back with the next', async () => {
  const { write, ids } = ledgersThatFailFirst();
  const writes = [
    entry('a'),
    { id: 'b', cost: 'nothing' as const },
    { id: 'paid', cost: 'estimate' as const },
  ];
  const lost = await Promise.allSettled(writes.map((one) => write('foxes', one)));
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await write('foxes', entry('c'))).toEqual({ ok: true });
  // A task that was paid for is never given back.
  expect(ids().at(-1)).toEqual(['nothing a', 'nothing b', 'estimate paid', 'reserve c']);
});

test('there is one ledger for each queue, and one update has all that a queue writes at a time', async () => {
  const { write, sent } = ledgersThat(allOk);
  await Promise.all([write('foxes', entry('a')), write('wolves', entry('b')), write('foxes', entry('c'))]);
  expect(sent.map(({ workflowId, entries }) => [workflowId, entries.map(({ id }) => id)])).toEqual([
    ['videogen-ledger-foxes', ['a', 'c']],
    ['videogen-ledger-wolves', ['b']],
  ]);
});
