import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { createVideoService, ServiceFault } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { Emulator, EmulatorOptions, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import {
  type ActivityWorld,
  type Attempt,
  asJob,
  attemptUntilEnd,
  createActivityWorld,
  type Ended,
  expectFailure,
  failureOf,
} from './activity-world';
import { emulatorService } from './emulator-model';
import {
  createFaultyService,
  type Fault,
  type FaultyService,
  isRead,
  type MakeClient,
  type OtherAddresses,
  startOtherAddresses,
} from './faulty-service';
import { createMemoryWorld } from './memory-world';

const REQUEST = { prompt: 'A red fox' };

let world: ActivityWorld;
let taskId: string;
beforeAll(async () => {
  world = await createActivityWorld();
  ({ taskId } = await world.run(world.activities.submitVideo, { request: REQUEST }).result);
});
afterEach(() => {
  expect(world.emulator.scriptIsSpent()).toBe(true);
});
afterAll(() => world.close());

/** The three calls, and the poll with which a download begins. */
type CallName = 'submit' | 'poll' | 'download, asking for its link' | 'download';

function script(call: CallName, fault: Faults['status'] & Faults['submit'], times = 1): void {
  const emulated = call === 'submit' || call === 'download' ? call : 'status';
  for (let answers = 0; answers < times; answers++) world.emulator.next(emulated, fault);
}

function start(call: CallName, activities = world.activities, info = {}): Attempt<unknown> {
  if (call === 'submit')
    return world.run(activities.submitVideo, { request: REQUEST }, { ...asJob(), ...info });
  if (call === 'poll') return world.run(activities.pollVideo, { taskId }, info);
  return world.run(activities.downloadVideo, { taskId }, info);
}

type Row = [status: number, type: FailureType, retryable: boolean];

const ANSWERS: Record<CallName, Row[]> = {
  submit: [
    [300, 'AnswerUnreadable', false],
    [302, 'SubmitUnconfirmed', false],
    [303, 'SubmitUnconfirmed', false],
    [308, 'AnswerUnreadable', false],
    [400, 'InvalidRequest', false],
    [401, 'Unauthorized', false],
    [402, 'Unauthorized', false],
    [403, 'Unauthorized', false],
    [404, 'AnswerUnreadable', false],
    [405, 'AnswerUnreadable', false],
    [408, 'ServiceUnreachable', true],
    [409, 'SubmitUnconfirmed', false],
    [413, 'InvalidRequest', false],
    [422, 'InvalidRequest', false],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
    [502, 'SubmitUnconfirmed', false],
    [503, 'ServiceFailed', true],
    [504, 'SubmitUnconfirmed', false],
    [520, 'SubmitUnconfirmed', false],
    [527, 'SubmitUnconfirmed', false],
    [529, 'ServiceFailed', true],
    [530, 'ServiceFailed', true],
    [599, 'SubmitUnconfirmed', false],
    [799, 'AnswerUnreadable', false],
  ],
  poll: [
    [302, 'AnswerUnreadable', true],
    [400, 'AnswerUnreadable', true],
    [401, 'Unauthorized', false],
    [403, 'Unauthorized', false],
    [404, 'TaskUnknown', false],
    [410, 'TaskUnknown', false],
    [422, 'AnswerUnreadable', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
    [503, 'ServiceFailed', true],
    [799, 'AnswerUnreadable', true],
  ],
  'download, asking for its link': [
    [400, 'AnswerUnreadable', true],
    [401, 'Unauthorized', true],
    [404, 'TaskUnknown', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
  ],
  download: [
    [302, 'VideoUnavailable', true],
    [400, 'VideoUnavailable', true],
    [401, 'VideoUnavailable', true],
    [403, 'VideoUnavailable', true],
    [404, 'VideoUnavailable', true],
    [410, 'VideoUnavailable', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
  ],
};
const CALL_NAMES = Object.keys(ANSWERS) as CallName[];
const ROWS = CALL_NAMES.flatMap((call) => ANSWERS[call].map((row) => [call, ...row] as const));

/** A refused link is asked for again twice, before Temporal's retry policy takes over. */
const answersTo = (call: CallName, status: number) =>
  call === 'download' && [401, 403, 404, 410].includes(status) ? 3 : 1;

/** A server error that does not say that the service takes nothing: only the same service is asked again. */
const mayHaveTask = (call: CallName, type: FailureType, status: number) =>
  call === 'submit' && type !== 'SubmitUnconfirmed' && status >= 500 && status !== 503 && status !== 529;

test.each(ROWS)(
  'an HTTP status to a %s, %d means %s, retryable %j',
  async (call, status, type, retryable) => {
    const generations = world.emulator.generations().length;
    script(call, { kind: 'refused', status, code: 'c', message: 'no foxes' }, answersTo(call, status));
    const { failure, details } = await failureOf(start(call, world.activities, { attempt: 1 }));

    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toEqual({
      ...(call === 'submit' ? {} : { taskId }),
      status,
      code: 'c',
      message: 'no foxes',
      attempt: 1,
      ...(type === 'SubmitUnconfirmed' && { onLostSubmit: 'hold', lostSubmit: expect.any(String) }),
      ...(mayHaveTask(call, type, status) && { mayHaveTask: true }),
    });
    expect(failure.message).toContain(`HTTP ${status}, code c, no foxes`);
    expect(failure.cause).toMatchObject({ name: 'ServiceFault', kind: 'answered' });
    expect(failure.message.includes(taskId)).toBe(call !== 'submit');
    expect(world.emulator.generations()).toHaveLength(generations);
  },
);

test.each<[FailureType, object]>([
  ['InvalidRequest', {}],
  // The service may refuse a known key, and then a task exists.
  ['SubmitUnconfirmed', { idempotencyKey: 'of-the-caller' }],
])('an answer with status 200 that refuses a submit means %s when the input has %j', async (type, input) => {
  const fault = new ServiceFault('refused', { status: 200, code: 'bad', message: 'No.' });
  const { submit } = createMemoryWorld(undefined, { service: { start: () => Promise.reject(fault) } });
  const { details } = await expectFailure(submit(input), type, 'for good');
  expect(details).toMatchObject({ status: 200, code: 'bad', message: 'No.' });
});

const MINUTE = 60_000;
const in30Seconds = () => new Date(Date.now() + 30_000);
const waits: [what: string, call: CallName, retryAfter: () => number | Date, least: number, most: number][] =
  [
    ...CALL_NAMES.map((call): (typeof waits)[number] => ['of 5 s', call, () => 5, 5_000, 5_500]),
    ['of 0, which becomes a second', 'poll', () => 0, 1_000, 1_100],
    ['of ten minutes', 'poll', () => 600, 10 * MINUTE, 11 * MINUTE],
    ['of an hour, which becomes ten minutes', 'poll', () => 3_600, 10 * MINUTE, 11 * MINUTE],
    // HTTP dates have whole seconds, so one may be lost to rounding.
    ['as a date', 'poll', in30Seconds, 28_000, 33_000],
  ];

test.each(waits)(
  'a Retry-After %s to a %s is the retry delay, with jitter',
  async (_what, call, retryAfter, least, most) => {
    script(call, { kind: 'rate-limited', retryAfter: retryAfter() });
    const { failure, details } = await failureOf(start(call));
    expect(failure.type).toBe('RateLimited');
    expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(least);
    expect(failure.nextRetryDelay).toBeLessThanOrEqual(most);
    expect(details).toMatchObject({ status: 429, code: 'rate_limited', message: 'too many requests' });
  },
);

test('a 429 without Retry-After leaves the delay to the retry policy', async () => {
  script('poll', { kind: 'rate-limited' });
  const { failure } = await failureOf(start('poll'));
  expect([failure.nextRetryDelay, failure.nonRetryable]).toEqual([undefined, false]);
});

test.each(CALL_NAMES)(
  'a failure of a %s repeats the service’s message without control characters',
  async (call) => {
    const message = 'one\r\n\ttwo\u001b[31m \u202e';
    script(call, { kind: 'refused', status: 500, code: 'a\u0000b', message });
    const { failure, details } = await failureOf(start(call));
    expect(details).toMatchObject({ code: 'a b', message: 'one two' });
    expect(failure.message).toMatch(/^[^\p{Cc}\p{Cf}]+$/u);
  },
);

test.each<[status: number, type: FailureType]>([
  [400, 'ContentRefused'],
  [422, 'ContentRefused'],
  [499, 'ContentRefused'],
  [401, 'Unauthorized'],
  [409, 'SubmitUnconfirmed'],
  [429, 'RateLimited'],
  [500, 'ServiceFailed'],
])('a submit that is answered %d with the code of refused content means %s', async (status, type) => {
  script('submit', { kind: 'refused', status, code: 'content_policy_violation', message: 'no foxes' });
  const { failure, details } = await failureOf(start('submit'));
  expect(failure.type).toBe(type);
  expect(details).toMatchObject({ status, code: 'content_policy_violation', message: 'no foxes' });
  const isRefused = type === 'ContentRefused';
  expect([details.stage, details.field]).toEqual(isRefused ? ['prompt', 'prompt'] : [undefined, undefined]);
  const explained = 'The content policy of the service refused the prompt: HTTP';
  expect(failure.message.includes(explained)).toBe(isRefused);
});

test('a failure never contains the API key or the signature of a link', () => {
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).toContain('too many requests');
});

/** How a submit ends after a fault. `tasks` counts those at the service, which a user pays for. */
interface Course {
  posts: number;
  tasks: number;
  ends: 'task' | FailureType;
}

const COURSES = {
  '2/1 task': { posts: 2, tasks: 1, ends: 'task' },
  '2/2 task': { posts: 2, tasks: 2, ends: 'task' },
  '1/1 lost': { posts: 1, tasks: 1, ends: 'SubmitUnconfirmed' },
  '1/0 lost': { posts: 1, tasks: 0, ends: 'SubmitUnconfirmed' },
  '1/0 refused': { posts: 1, tasks: 0, ends: 'InvalidRequest' },
} as const satisfies Record<string, Course>;

type CourseName = keyof typeof COURSES;

/**
 * What each fault means to the first submit, and how the submit continues as POSTs / tasks and its end: with the policy `hold`,
 * and with `resubmit`. Then what it means to the first poll, and to the first connection of a download, which may recover by
 * itself.
 *
 * "Reset before bytes" is a connection that is reset before the request begins. With "reset before acting" the request has
 * left; the client cannot know that the server did not act on it, so the submit counts as lost.
 */
// biome-ignore format: a table is read by its columns.
const FAULTS: [
  fault: Fault, submit: FailureType, hold: CourseName, resubmit: CourseName, poll: FailureType, download: FailureType | 'recovered',
][] = [
  ['refused',             'ServiceUnreachable', '2/1 task',    '2/1 task',    'ServiceUnreachable', 'ServiceUnreachable'],
  ['reset before bytes',  'ServiceUnreachable', '2/1 task',    '2/1 task',    'ServiceUnreachable', 'ServiceUnreachable'],
  ['reset before acting', 'SubmitUnconfirmed',  '1/0 lost',    '2/1 task',    'ServiceUnreachable', 'recovered'],
  ['reset after bytes',   'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'ServiceUnreachable', 'recovered'],
  ['cut in headers',      'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'ServiceUnreachable', 'recovered'],
  ['cut in body',         'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'ServiceUnreachable', 'recovered'],
  ['hang',                'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'ServiceUnreachable', 'recovered'],
  [429,                   'RateLimited',        '2/1 task',    '2/1 task',    'RateLimited',        'RateLimited'],
  [500,                   'ServiceFailed',      '2/1 task',    '2/1 task',    'ServiceFailed',      'ServiceFailed'],
  [409,                   'SubmitUnconfirmed',  '1/0 lost',    '2/1 task',    'AnswerUnreadable',   'VideoUnavailable'],
  [303,                   'SubmitUnconfirmed',  '1/0 lost',    '2/1 task',    'AnswerUnreadable',   'VideoUnavailable'],
  [422,                   'InvalidRequest',     '1/0 refused', '1/0 refused', 'AnswerUnreadable',   'VideoUnavailable'],
  ['bad JSON',            'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'AnswerUnreadable',   'VideoCorrupt'],
  ['empty 200',           'SubmitUnconfirmed',  '1/1 lost',    '2/2 task',    'AnswerUnreadable',   'VideoCorrupt'],
];

let others: OtherAddresses & { close(): Promise<void> };
beforeAll(async () => {
  others = await startOtherAddresses();
});
afterAll(() => others.close());

/** One job's own service, which has met all faults in the end. */
async function atService(
  work: (service: FaultyService, emulator: Emulator) => Promise<void>,
  { makeClient = createVideoService, ...options }: EmulatorOptions & { makeClient?: MakeClient } = {},
): Promise<void> {
  const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024, ...options });
  const service = createFaultyService(emulator, others, makeClient);
  try {
    await work(service, emulator);
    expect(service.unmet()).toEqual([]);
    expect(new Set(service.posts).size).toBeLessThanOrEqual(1);
  } finally {
    await service.close();
    await emulator.close();
  }
}

/** The activities of a new worker, whose rate limiter knows of no earlier 429. */
const activitiesOf = (service: FaultyService) =>
  createVideoActivities({ service, storage: createFileStorage(world.folder) });

function submit(service: FaultyService, onLostSubmit: LostSubmitPolicy) {
  const run = { ...asJob(), activityId: randomUUID() };
  return attemptUntilEnd((info) =>
    world.run(activitiesOf(service).submitVideo, { request: REQUEST, onLostSubmit }, { ...run, ...info }),
  );
}

const lastTask = (emulator: Emulator) => emulator.generations().at(-1)?.taskId ?? 'no task';

function expectCourse(
  { end, failures }: Ended<{ taskId: string }>,
  { posts, tasks, ends }: Course,
  service: FaultyService,
  emulator: Emulator,
): void {
  if (end instanceof ApplicationFailure) expect(failures.at(-1)).toBe(ends);
  // What a model calls its operation has the id of the task in it.
  else expect([end.taskId, ends]).toEqual([expect.stringContaining(lastTask(emulator)), 'task']);
  expect({ posts: service.posts.length, tasks: emulator.generations().length }).toEqual({ posts, tasks });
}

/** A model of the AI SDK in place of the service itself. */
const aiSdkModel: MakeClient = ({ baseUrl, apiKey, timeouts }) =>
  emulatorService({ baseUrl, apiKey: apiKey() }, { timeouts });

const SUBMITS = FAULTS.flatMap(([fault, failure, hold, resubmit]) => [
  [fault, 'the service', 'hold', hold, failure, undefined] as const,
  [fault, 'the service', 'resubmit', resubmit, failure, undefined] as const,
  [fault, 'a model of the AI SDK', 'hold', hold, failure, aiSdkModel] as const,
]);

test.each(SUBMITS)(
  'a submit that meets %s at %s, on lost submit %s, continues as %s',
  (fault, _at, onLostSubmit, course, failure, makeClient) =>
    atService(
      async (service, emulator) => {
        service.next('submit', fault);
        const ended = await submit(service, onLostSubmit);
        expectCourse(ended, COURSES[course], service, emulator);
        expect(ended.failures).toEqual([failure]);
        const { posts } = COURSES[course];
        const arrived = emulator.calls.filter(({ call }) => call === 'submit').length;
        expect(arrived).toBe(isRead(fault) ? posts : posts - 1);
      },
      { makeClient },
    ),
);

test.each([
  ['the service', undefined],
  ['a model of the AI SDK', aiSdkModel],
])(
  'where idempotency keys are honoured, %s is paid once for a lost submit, even with resubmit',
  (_at, makeClient) =>
    atService(
      async (service, emulator) => {
        service.next('submit', 'reset after bytes');
        const ended = await submit(service, 'resubmit');
        expectCourse(ended, COURSES['2/1 task'], service, emulator);
      },
      { makeClient, idempotencyKeys: 'honoured' },
    ),
);

const LATER = FAULTS.map(([fault, , , , poll, download]) => [fault, poll, download] as const);

test.each(LATER)(
  'a task goes on after %s to its poll, %s, and to its download, %s',
  (fault, pollFailure, downloadFailure) =>
    atService(async (service, emulator) => {
      const { end } = await submit(service, 'hold');
      if (end instanceof ApplicationFailure) throw end;
      const { taskId } = end;
      service.next('poll', fault);
      const polled = await attemptUntilEnd((info) =>
        world.run(activitiesOf(service).pollVideo, { taskId }, info),
      );
      expect(polled.failures).toEqual([pollFailure]);
      expect(polled.end).not.toBeInstanceOf(ApplicationFailure);
      service.next('download', fault);
      const downloaded = await attemptUntilEnd((info) =>
        world.run(activitiesOf(service).downloadVideo, { taskId }, info),
      );
      expect(downloaded.failures).toEqual(downloadFailure === 'recovered' ? [] : [downloadFailure]);
      expect(downloaded.end).not.toBeInstanceOf(ApplicationFailure);
      expect(emulator.generations()).toHaveLength(1);
    }),
);

test('a POST that is answered 422 after a lost one, whose key the service may know, is sent again with resubmit', () =>
  atService(async (service, emulator) => {
    service.next('submit', 'reset after bytes', 422);
    const ended = await submit(service, 'resubmit');
    expectCourse(ended, { posts: 3, tasks: 2, ends: 'task' }, service, emulator);
  }));
