import { rm } from 'node:fs/promises';
import { createAdoptTask } from '../../activities/adopt-task';
import { createSettleTask, createSubmitCaps } from '../../activities/caps';
import type { LedgerWriter } from '../../activities/ledger-client';
import { createPollVideo, type PollVideoInput } from '../../activities/poll-video';
import type { SubmittedTask } from '../../activities/record-task';
import { createFindTools } from '../../activities/service-tools';
import { createSubmitVideo, type SubmitVideoInput } from '../../activities/submit/submit-video';
import { run } from '../../src/cli/run';
import type { Caps, LedgerEntry } from '../../src/contract/caps';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { VideoRequest } from '../../src/contract/request';
import { ServiceDirectory, type ServiceProfile } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { Ledger } from '../../workflows/ledger';
import { FakeTerminal } from '../cli/fake-terminal';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

const REQUEST: VideoRequest = { prompt: 'A red fox', duration: 5 };
const usd = (amount: number) => ({ amount, currency: 'USD' });
const PRICED: ServiceProfile = { prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } };

let world: ActivityWorld;
let ledger: Ledger;
let written: LedgerEntry[];
beforeEach(async () => {
  world = await createActivityWorld();
  ledger = new Ledger(Date.now());
  written = [];
});
afterEach(() => world.close());

const inMemory: LedgerWriter = {
  write: async (_taskQueue, entry) => {
    written.push(entry);
    return ledger.write([entry], Date.now())[0] ?? { ok: true };
  },
};

interface Setup {
  caps?: Caps;
  profile?: ServiceProfile;
  writer?: LedgerWriter;
  onLostSubmit?: LostSubmitPolicy;
}

const asJob = (job: string) => ({ workflowExecution: { workflowId: job, runId: 'run' } });

function activitiesWith({ caps: ofWorker = {}, profile, writer = inMemory, onLostSubmit = 'hold' }: Setup) {
  const service = world.serviceAt(world.emulator.url, { profile });
  const storage = createFileStorage(world.folder);
  const find = createFindTools(new ServiceDirectory({ service }));
  const caps = createSubmitCaps({ caps: ofWorker, ledger: writer });
  const submitVideo = createSubmitVideo({ find, storage, onLostSubmit, caps });
  const pollVideo = createPollVideo(find, createSettleTask(storage, caps, ofWorker));
  const adoptTask = createAdoptTask({ find, storage });
  return {
    submit: (job: string, more: Partial<SubmitVideoInput> = {}, info = {}) =>
      world.run(submitVideo, { request: REQUEST, ...more }, { ...asJob(job), ...info }),
    poll: (job: string, task: Pick<SubmittedTask, 'taskId' | 'record'>, more: Partial<PollVideoInput> = {}) =>
      world.run(pollVideo, { taskId: task.taskId, record: task.record, ...more }, asJob(job)).result,
    adopt: (job: string, taskId: string) =>
      world.run(adoptTask, { taskId, request: REQUEST }, asJob(job)).result,
  };
}

const submitter = (setup: Setup) => activitiesWith(setup).submit;

const counted = () => ledger.report().counts.map(({ used, reserved }) => [used.videos, reserved.videos]);
const posts = () => world.emulator.calls.length;

test('a submit without a cap writes nothing into the ledger', async () => {
  await submitter({})('fox').result;
  expect(written).toEqual([]);
});

/** The ids that whoever decides to repeat the lost submit gives. */
async function loseSubmit(submit: Parameters<typeof failureOf>[0]): Promise<string[]> {
  const { failure, details } = await failureOf(submit);
  expect(failure.type).toBe('SubmitUnconfirmed');
  return [String(details.lostSubmit)];
}

test('a submit reserves before its POST; the next one is refused before a byte is sent', async () => {
  const submit = submitter({ caps: { day: { videos: 1 } } });
  await submit('fox-1').result;
  expect(counted()).toEqual([[0, 1]]);
  const refused = submit('fox-2');
  const { failure, details } = await failureOf(refused);
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: true });
  expect(details).toMatchObject({ cap: 'day.videos', capLeft: 0 });
  expect(posts()).toBe(1);
  expect(refused.beats).toEqual([{ attemptWithoutTask: 1 }]);
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

test('a decided resubmit is counted beside the lost submit, and the cost of the job says so', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  expect(counted()).toEqual([[0, 1]]);
  const { cost } = await submit('fox', { repeats }, { activityId: 'decided' }).result;
  expect(counted()).toEqual([[0, 2]]);
  expect(cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
});

test('each lost submit of a job counts under its own cap, however often somebody decides to repeat it', async () => {
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

test('a lost submit stays counted when the service refuses the decided resubmit', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  world.emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
  const submit = submitter({ caps: { day: { videos: 2 } }, profile: PRICED });
  const repeats = await loseSubmit(submit('fox'));
  const { details } = await failureOf(submit('fox', { repeats }, { activityId: 'decided' }));
  expect(counted()).toEqual([[0, 1]]);
  expect(details.cost).toMatchObject({ estimated: usd(0.5), lostSubmits: 1 });
});

test('a later job of the name counts the lost submit under its own cap, although its repetition was refused', async () => {
  world.emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 400, message: 'no foxes' });
  const submit = submitter({});
  const repeats = await loseSubmit(submit('fox'));
  await failureOf(submit('fox', { repeats }, { activityId: 'decided' }));
  const { failure } = await failureOf(submit('fox', { cap: { videos: 1 } }, { activityId: 'later' }));
  expect(failure.type).toBe('CapReached');
  expect(failure.message).toContain('An earlier submit was lost, so a task may exist');
  expect(posts()).toBe(2);
});

test.each<[string, Setup, Partial<SubmitVideoInput>]>([
  ['of the day', { caps: { day: { videos: 1 } } }, {}],
  ['of the job', {}, { cap: { videos: 1 } }],
  ['of the batch', {}, { sharedCap: { name: 'foxes', cap: { videos: 1 } } }],
])(
  'a cap %s that is reached after a lost submit says that a task may exist',
  async (_whose, setup, input) => {
    world.emulator.next('submit', { kind: 'reset' });
    const submit = submitter(setup);
    const decided = { ...input, repeats: await loseSubmit(submit('fox', input)) };
    const { failure } = await failureOf(submit('fox', decided, { activityId: 'decided' }));
    expect(failure.type).toBe('CapReached');
    expect(failure.message).toContain('An earlier submit was lost, so a task may exist');
    expect(failure.message).not.toContain('Nothing was paid');
  },
);

test.each<[string, Setup, Partial<SubmitVideoInput>]>([
  ['its own', {}, { cap: { seconds: 4 } }],
  ["the worker's", { caps: { job: { seconds: 4 } } }, {}],
  ['its own, in videos', {}, { cap: { videos: 0 } }],
])('a cap of a job alone never resets: %s', async (_whose, setup, input) => {
  const { failure, details } = await failureOf(submitter(setup)('fox', input));
  expect(failure.message).toContain('Raise the cap of the job');
  expect(failure.message).not.toContain('resets');
  expect(details.capResetsAt).toBeUndefined();
});

test('the worker counts in the ledger of the queue of the workflow', async () => {
  const queues: string[] = [];
  const writer: LedgerWriter = {
    write: (queue, entry) => {
      queues.push(queue);
      return inMemory.write(queue, entry);
    },
  };
  const submit = submitter({ caps: { day: { videos: 9 } }, profile: PRICED, writer });
  await submit('fox', { ledgerQueue: 'films' }, { taskQueue: 'own' }).result;
  await submit('hare', {}, { taskQueue: 'own' }).result;
  expect(queues).toEqual(['films', 'own']);
  expect(written[0]).toMatchObject({ takes: { videos: 1, seconds: 5, USD: 0.5 } });
});

test('nothing is sent when the ledger is full', async () => {
  const writer: LedgerWriter = { write: async () => ({ refused: { message: 'the ledger is full' } }) };
  const { failure, details } = await failureOf(submitter({ caps: { day: { videos: 1 } }, writer })('fox'));
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: true });
  expect(details.message).toBe('the ledger is full');
  expect(posts()).toBe(0);
});

test('a retry after a refusal that could not be given back is counted beside it, never below what was paid', async () => {
  world.emulator.next('submit', { kind: 'server-error' });
  const writer: LedgerWriter = {
    write: async (queue, entry) => {
      if ('cost' in entry) throw new Error('no worker');
      return inMemory.write(queue, entry);
    },
  };
  const submit = submitter({ caps: { day: { videos: 2 } }, writer });
  const first = submit('fox');
  await failureOf(first);
  await submit('fox', {}, { attempt: 2, heartbeatDetails: first.beats.at(-1) }).result;
  expect(counted()).toEqual([[0, 2]]);
});

test('a submit that repeats a lost one by itself is counted beside it', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ caps: { day: { videos: 2 } }, onLostSubmit: 'resubmit' });
  const first = submit('fox');
  await failureOf(first);
  await submit('fox', {}, { attempt: 2, heartbeatDetails: first.beats.at(-1) }).result;
  expect(counted()).toEqual([[0, 2]]);
  expect(posts()).toBe(2);
});

test('a cap of one video for the job keeps it from repeating a lost submit by itself', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  const submit = submitter({ onLostSubmit: 'resubmit' });
  const cap = { videos: 1 };
  const first = submit('fox', { cap });
  await failureOf(first);
  const second = submit('fox', { cap }, { attempt: 2, heartbeatDetails: first.beats.at(-1) });
  const { failure, details } = await failureOf(second);
  expect([failure.type, details.cap, details.capLeft]).toEqual(['CapReached', 'job.videos', 0]);
  expect(failure.message).toContain('a task may still exist');
  expect(posts()).toBe(1);
});

test('nothing is sent while the ledger cannot be reached, and Temporal tries again', async () => {
  const writer: LedgerWriter = {
    write: async () => {
      throw new Error('no worker');
    },
  };
  const { failure } = await failureOf(submitter({ caps: { day: { videos: 1 } }, writer })('fox'));
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: false });
  expect(failure.message).toContain(
    'nothing was sent, because the ledger of the caps cannot be reached: no worker',
  );
  expect(posts()).toBe(0);
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

test.each<[string, Caps, VideoRequest, ServiceProfile | undefined, string]>([
  [
    'money, without prices',
    { day: { money: usd(1) } },
    REQUEST,
    undefined,
    'the cost of the video is not known: the profile of the service has no prices, and there is a cap on money (day.money)',
  ],
  [
    'money in another currency',
    { job: { money: { amount: 1, currency: 'EUR' } } },
    REQUEST,
    PRICED,
    'the cost of the video is in USD and the cap in EUR, and there is a cap on money (job.money)',
  ],
  [
    'seconds, for a request without a duration',
    { day: { seconds: 10 } },
    { prompt: 'A red fox' },
    undefined,
    'the duration of the video is not known: the request has none, and there is a cap on seconds (day.seconds)',
  ],
])('under a cap on %s nothing is sent', async (_what, caps, request, profile, message) => {
  const { failure, details } = await failureOf(submitter({ caps, profile })('fox', { request }));
  expect([failure.type, failure.nonRetryable, details.message]).toEqual(['CapReached', true, message]);
  expect(details.capLeft).toBeUndefined();
  expect(posts()).toBe(0);
});

test('a cap on money allows what the prices of the profile say', async () => {
  const submit = submitter({ caps: { day: { money: usd(0.9) } }, profile: PRICED });
  await submit('fox-1').result;
  const { details } = await failureOf(submit('fox-2'));
  expect(details.message).toMatch(
    /^the daily cap of 0.90 USD has 0.40 USD left, and this video takes 0.50 USD;/,
  );
});

test.each([
  ['less', usd(9), { amount: 5, currency: 'credits' }],
  ['more', usd(5), { amount: 9, currency: 'credits' }],
])(
  'a cap of the batch in another currency holds beside that of the worker, with an amount that is %s',
  async (_what, ofWorker, ofBatch) => {
    const submit = submitter({ caps: { batch: { money: ofWorker } }, profile: PRICED });
    const { failure, details } = await failureOf(
      submit('foxes-1', { sharedCap: { name: 'foxes', cap: { money: ofBatch } } }),
    );
    expect([failure.type, details.message]).toEqual([
      'CapReached',
      'the cost of the video is in USD and the cap in credits, and there is a cap on money (batch.money)',
    ]);
    const other = { prices: { currency: 'credits', table: [{ perVideo: 1 }] } };
    const inCredits = submitter({ caps: { batch: { money: ofWorker } }, profile: other });
    const refused = await failureOf(
      inCredits('foxes-1', { sharedCap: { name: 'foxes', cap: { money: ofBatch } } }),
    );
    expect(refused.details.message).toContain('the cost of the video is in credits and the cap in USD');
    expect(posts()).toBe(0);
  },
);

test('the cap of the worker for a batch holds for one without a cap of its own', async () => {
  const submit = submitter({ caps: { batch: { videos: 1 } } });
  const sharedCap = { name: 'foxes', cap: {} };
  await submit('foxes-1', { sharedCap }).result;
  expect((await failureOf(submit('foxes-2', { sharedCap }))).details).toMatchObject({ cap: 'batch.videos' });
  await submit('a job alone').result;
});

const FAILED_TASK = { kind: 'failed-task', code: 'internal', message: 'no foxes today' } as const;

/** What `videogen spend` finds in the storage. */
async function spent() {
  const terminal = new FakeTerminal({ VIDEOGEN_STORAGE: world.folder, TEMPORAL_NAMESPACE: 'test' });
  expect(await run(['spend', '--since', '1970-01-02', '--json'], terminal)).toBe(0);
  expect(terminal.stderr).toBe('');
  const { videos, charged, estimated } = JSON.parse(terminal.stdout);
  return { videos, charged, estimated };
}

describe('when a task has ended', () => {
  const caps = { day: { videos: 9, money: usd(9) } };
  const used = () => ledger.report().counts.map((count) => [count.used, count.reserved.videos]);

  beforeEach(async () => {
    await world.close();
    world = await createActivityWorld({ charge: 0.3 });
  });

  it('counts what the service charged for the video, once, however often it is polled', async () => {
    const { submit, poll } = activitiesWith({ caps, profile: PRICED });
    const task = await submit('fox').result;
    await poll('fox', task);
    await poll('fox', task);
    expect(used()).toEqual([[{ videos: 1, seconds: 5, USD: 0.3 }, 0]]);
  });

  it('counts a task that failed and was not charged as nothing, in the caps and in the record', async () => {
    world.emulator.next('submit', FAILED_TASK);
    const { submit, poll } = activitiesWith({ caps, profile: PRICED });
    const task = await submit('fox').result;
    expect(await spent()).toMatchObject({ videos: 1, estimated: [usd(0.5)] });
    expect(await poll('fox', task)).toMatchObject({ state: 'failed', charged: usd(0) });
    await poll('fox', task);
    expect(used()).toEqual([[{ videos: 0 }, 0]]);
    expect(await spent()).toEqual({ videos: 1, charged: [usd(0)], estimated: [] });
    // A later job of this name finds the same task, with what it cost.
    expect((await submit('fox').result).cost).toEqual({ ...task.cost, charged: usd(0) });
  });

  it('counts the lost submit that a free task repeated, however often the task is polled', async () => {
    world.emulator.next('submit', { kind: 'reset' }, FAILED_TASK);
    const { submit, poll } = activitiesWith({ caps, profile: PRICED });
    const repeats = await loseSubmit(submit('fox'));
    const task = await submit('fox', { repeats }, { activityId: 'decided' }).result;
    await poll('fox', task);
    await poll('fox', task);
    expect(counted()).toEqual([[0, 1]]);
    expect(await spent()).toEqual({ videos: 2, charged: [usd(0)], estimated: [usd(0.5)] });
  });

  it('counts a lost submit as nothing once its task is adopted and was not charged', async () => {
    world.emulator.next('submit', { kind: 'reset-late', ms: 10 });
    world.emulator.next('status', FAILED_TASK);
    const { submit, poll, adopt } = activitiesWith({ caps, profile: PRICED });
    await loseSubmit(submit('fox'));
    const taskId = String(world.emulator.generations()[0]?.taskId);
    await poll('fox', await adopt('fox', taskId));
    expect(counted()).toEqual([[0, 0]]);
    expect(await spent()).toEqual({ videos: 1, charged: [usd(0)], estimated: [] });
  });

  it('counts the estimate if the service does not say what it charged', async () => {
    await world.close();
    world = await createActivityWorld();
    const { submit, poll } = activitiesWith({ caps, profile: PRICED });
    await poll('fox', await submit('fox').result);
    expect(used()).toEqual([[{ videos: 1, seconds: 5, USD: 0.5 }, 0]]);
  });

  it('counts in the batch and for the caller of the job', async () => {
    world.emulator.next('submit', FAILED_TASK);
    const { submit, poll } = activitiesWith({ caps: { key: { videos: 9 } } });
    const job = { caller: 'web_shop', sharedCap: { name: 'foxes', cap: { videos: 9 } } };
    await poll('foxes-1', await submit('foxes-1', job).result, job);
    expect(counted()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('asks no ledger for a job without a cap', async () => {
    const { submit, poll } = activitiesWith({ profile: PRICED });
    await poll('fox', await submit('fox').result);
    expect(written).toEqual([]);
  });

  it('returns the status although neither the ledger nor the storage can be reached', async () => {
    const writer: LedgerWriter = {
      write: async (queue, entry) => {
        if ('cost' in entry) throw new Error('no worker');
        return inMemory.write(queue, entry);
      },
    };
    const { submit, poll } = activitiesWith({ caps, profile: PRICED, writer });
    const task = await submit('fox').result;
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    await rm(world.folder, { recursive: true });
    expect(await poll('fox', task)).toMatchObject({ state: 'succeeded' });
    expect(counted()).toEqual([[0, 1]]);
  });
});
