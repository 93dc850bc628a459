import type { CarriedJob } from '../../../src/contract/carried-over';
import { jsonBytes, LARGEST_REQUESTS_BYTES } from '../../../src/contract/sizes';
import { VideoFailure } from '../../../src/contract/video-failure';
import { carriedItems } from '../../../workflows/batch/batch-state';
import { carriedTimesOf, carryTimes } from '../../../workflows/batch/carried-times';
import { Job, type JobHost } from '../../../workflows/job';

const WIDEST_WINDOW = 500;
const MIB = 1024 * 1024;
/** Temporal's limit for an input. */
const LARGEST_INPUT_BYTES = 2 * MIB;

const request = {
  prompt: 'A fox'.padEnd(150_000, '.'),
  image_url: `data:image/png;base64,${'A'.repeat(150_000)}`,
  resolution: '1080p',
  aspect_ratio: '16:9',
  duration: 10,
  seed: Number.MIN_SAFE_INTEGER,
} as const;

const hostOf = (item: number): JobHost => ({
  name: `${'foxes'.repeat(200)}-${item}`,
  item,
  resetRuns: undefined,
  warnedWords: new Set(),
  loadRequest: async () => request,
  changed: () => undefined,
  recordTask: () => undefined,
});

async function newJob(item: number): Promise<Job> {
  const job = new Job({}, hostOf(item));
  await job.loadRequest();
  return job;
}

const TIMES = Array.from({ length: 21 }, (_, share) => 604_000_000 + share);

/** A waiting job with the longest possible values: each character takes three bytes, or is escaped. */
async function waiting(item: number): Promise<Job> {
  const job = await newJob(item);
  job.hold.start(new VideoFailure('SubmitUnconfirmed'));
  jest.setSystemTime(Date.now() + 86_399_999);
  job.hold.end();
  const most = { amount: 999_999_999.999999, currency: 'creditscreditscr' };
  const cost = { charged: most, estimated: most, service: '狐'.repeat(100) };
  job.recordSettings({ taskId: 'task_1', usualTimes: TIMES, cost });
  job.adoptTask(`${item}`.padEnd(1_000, 'x'));
  job.enter('waiting');
  const details = { message: '狐'.repeat(5_000), code: '"'.repeat(5_000), status: 503, taskId: job.taskId };
  job.recordStatus({
    state: 'unknown',
    word: '狐'.repeat(500),
    percent: 99.99999999999999,
    servicePolling: {
      min: 86_400_000,
      max: 86_400_000,
      pollsPerSecondSaved: 99.99999999999999,
      usually: { median: 86_400_000, slow: 86_400_000 },
    },
  });
  for (let count = 0; count < 10; count++) job.recordPollFailure(new VideoFailure('ServiceFailed', details));
  return job;
}

async function held(item: number): Promise<Job> {
  const job = await newJob(item);
  job.hold.start(
    new VideoFailure('SubmitUnconfirmed', {
      message: '\\'.repeat(5_000),
      code: '狐'.repeat(5_000),
      status: 504,
    }),
  );
  return job;
}

async function many(count: number, make: (item: number) => Promise<Job>, from = 1) {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => [from + index, await make(from + index)] as const),
  );
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('the widest window of waiting and of held items carries less than 1 MiB, even with the longest values', async () => {
  const running = [
    ...(await many(WIDEST_WINDOW, waiting, 999_000)),
    ...(await many(WIDEST_WINDOW, held, 999_500)),
  ];
  const carried = [carriedItems(new Map(running)), carryTimes(running.map(([, job]) => job))];
  const bytes = jsonBytes(carried);
  expect(bytes).toBeLessThan(MIB);
  // Together with the largest requests in the input of a batch.
  expect(bytes + LARGEST_REQUESTS_BYTES).toBeLessThan(LARGEST_INPUT_BYTES - 100_000);
});

test('the items of a batch carry their usual times once for all that expect such a video', async () => {
  const [first, second, other] = [await waiting(1), await waiting(2), await held(3)];
  second.recordSettings({ taskId: 'task_2', usualTimes: TIMES.map((time) => time + 1) });
  other.expected = { resolution: '480p' };
  const carried = carryTimes([first, second, other]);
  expect(carried).toEqual([
    { expected: { resolution: '1080p', duration: 10 }, times: TIMES.map((time) => time + 1) },
  ]);
  expect(carriedTimesOf(carried, first.expected)).toEqual(second.usualTimes);
  expect(carriedTimesOf(carried, other.expected)).toBeUndefined();
  expect(JSON.stringify(carriedItems(new Map([[1, first]])))).not.toContain('604000001');
});

test.each([
  ['too few', [1, 2, 3]],
  ['falling', Array.from({ length: 21 }, (_, share) => 100 - share)],
  ['negative', Array.from({ length: 21 }, (_, share) => share - 1)],
  ['no numbers', Array.from({ length: 21 }, () => '1')],
  ['endless', Array.from({ length: 21 }, () => Number.POSITIVE_INFINITY)],
])('a job takes no usual times that are %s', (_name, usualTimes) => {
  const job = new Job({}, hostOf(1));
  job.recordSettings({ taskId: 'task_1', usualTimes: usualTimes as number[] });
  expect(job.usualTimes).toBeUndefined();
});

test('only the fields of a request that the video is checked against are carried', async () => {
  const [carried] = carriedItems(new Map([[7, await held(7)]]));
  expect(carried?.job.expected).toEqual({
    resolution: '1080p',
    aspect_ratio: '16:9',
    duration: 10,
    seed: Number.MIN_SAFE_INTEGER,
  });
  expect(JSON.stringify(carried)).not.toContain('fox');
});

test('a few items carry their messages unchanged', async () => {
  const job = await newJob(1);
  job.recordTask('task_1');
  job.recordPollFailure(new VideoFailure('ServiceFailed', { message: 'overloaded', status: 503 }));
  const [carried] = carriedItems(new Map([[1, job]]));
  expect(carried?.job.problem).toEqual(job.observed.problem);
});

test('an item carries what it costs, without words', async () => {
  const job = await newJob(1);
  const estimated = { amount: 0.5, currency: 'USD' };
  job.recordSettings({ taskId: 'task_1', cost: { estimated, service: 'Ark' } });
  job.recordStatus({ state: 'running', word: 'running' });
  const [carried] = carriedItems(new Map([[1, job]]));
  expect(carried?.job.cost).toEqual({ estimated });
  expect(new Job({}, hostOf(1), carried?.job).progress().cost).toEqual({ estimated });
  expect(carriedItems(new Map([[2, await held(2)]]))[0]?.job.cost).toBeUndefined();
});

test('the next run restores every field that was carried', async () => {
  const job = await waiting(1);
  job.recordSettings({
    taskId: 'task_1',
    servicePolling: { min: 60_000 },
    usualTimes: TIMES,
    record: 'record-1',
  });
  job.recordPollFailure(new VideoFailure('TaskUnknown', { retryAfter: 7 }));
  job.pollRequested = true;
  const carried = [job, await held(2)].map((each) => each.carry(1_000));
  const fields = new Set(carried.flatMap((each) => Object.entries(each)).flatMap(namesOfSet));
  expect([...fields].sort()).toEqual(CARRIED_BY_ITEMS);
  jest.setSystemTime(Date.now() + 60_000);
  for (const each of carried) expect(new Job({}, hostOf(1), each).carry(1_000)).toEqual(each);
});

const namesOfSet = ([name, value]: [string, unknown]) => (value === undefined ? [] : [name]);

/** All fields of CarriedJob, but `warnedWords`, which the batch carries. */
const CARRIED_BY_ITEMS = [
  'cost',
  'expected',
  'hold',
  'isAdopted',
  'misses',
  'pastHoldsMs',
  'pollRequested',
  'polls',
  'problem',
  'record',
  'retryAfterMs',
  'servicePolling',
  'startedAtMs',
  'submittedAtMs',
  'task',
  'taskId',
  'usualTimes',
] satisfies (keyof CarriedJob)[];
