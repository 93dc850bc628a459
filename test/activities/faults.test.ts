import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../../src/contract/lost-submit';
import { readFailure } from '../../src/contract/video-failure';
import { createVideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import {
  type ActivityWorld,
  asJob,
  attemptUntilEnd,
  createActivityWorld,
  type Ended,
} from './activity-world';
import { emulatorService } from './emulator-model';
import {
  createFaultyService,
  type Fault,
  type FaultyService,
  isRead,
  type MakeClient,
  startUnreadAddresses,
  type UnreadAddresses,
} from './faulty-service';

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
 * The fault of the first submit, the failure of that attempt, and how the submit continues as POSTs / tasks and its end:
 * with the policies `hold` and `fail`, and with `resubmit`.
 *
 * "Reset before bytes" is a connection that is reset before the request begins. With "reset unread" the request has
 * left; the client cannot know that the server did not read it, so the submit counts as lost.
 */
// biome-ignore format: a table is read by its columns.
const SUBMITS: [fault: Fault, failure: FailureType, otherwise: CourseName, resubmit: CourseName][] = [
  ['refused',            'ServiceUnreachable', '2/1 task',    '2/1 task'],
  ['reset before bytes', 'ServiceUnreachable', '2/1 task',    '2/1 task'],
  ['reset unread',       'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  ['reset after bytes',  'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['cut in headers',     'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['cut in body',        'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['hang',               'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  [429,                  'RateLimited',        '2/1 task',    '2/1 task'],
  [500,                  'ServiceFailed',      '2/1 task',    '2/1 task'],
  [409,                  'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  [303,                  'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  [422,                  'InvalidRequest',     '1/0 refused', '1/0 refused'],
  ['bad JSON',           'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['empty 200',          'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
];

/** The fault of the first poll or connection, and the failure of that attempt, unless it recovers by itself. */
// biome-ignore format: a table is read by its columns.
const LATER: [fault: Fault, call: 'poll' | 'download', failure: FailureType | 'recovered'][] = [
  ['refused',            'poll',     'ServiceUnreachable'],
  ['reset before bytes', 'poll',     'ServiceUnreachable'],
  ['reset unread',       'poll',     'ServiceUnreachable'],
  ['reset after bytes',  'poll',     'ServiceUnreachable'],
  ['cut in headers',     'poll',     'ServiceUnreachable'],
  ['cut in body',        'poll',     'ServiceUnreachable'],
  ['hang',               'poll',     'ServiceUnreachable'],
  [429,                  'poll',     'RateLimited'],
  [500,                  'poll',     'ServiceFailed'],
  [409,                  'poll',     'AnswerUnreadable'],
  [303,                  'poll',     'AnswerUnreadable'],
  [422,                  'poll',     'AnswerUnreadable'],
  ['bad JSON',           'poll',     'AnswerUnreadable'],
  ['empty 200',          'poll',     'AnswerUnreadable'],

  ['refused',            'download', 'ServiceUnreachable'],
  ['reset before bytes', 'download', 'ServiceUnreachable'],
  ['reset unread',       'download', 'recovered'],
  ['reset after bytes',  'download', 'recovered'],
  ['cut in headers',     'download', 'recovered'],
  ['cut in body',        'download', 'recovered'],
  ['hang',               'download', 'recovered'],
  [429,                  'download', 'RateLimited'],
  [500,                  'download', 'ServiceFailed'],
  [409,                  'download', 'VideoUnavailable'],
  [303,                  'download', 'VideoUnavailable'],
  [422,                  'download', 'VideoUnavailable'],
  ['bad JSON',           'download', 'VideoCorrupt'],
  ['empty 200',          'download', 'VideoCorrupt'],
];

let unread: UnreadAddresses & { close(): Promise<void> };
let world: ActivityWorld;
beforeAll(async () => {
  unread = await startUnreadAddresses();
  world = await createActivityWorld();
});
afterAll(async () => {
  await unread.close();
  await world.close();
});

/** One job's own service, which has met all faults in the end. */
async function atService(
  makeClient: MakeClient,
  options: EmulatorOptions,
  work: (service: FaultyService, emulator: Emulator) => Promise<void>,
): Promise<void> {
  const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024, ...options });
  const service = createFaultyService(emulator, unread, makeClient);
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

interface SubmitOptions {
  onLostSubmit: LostSubmitPolicy;
  job?: string;
  repeats?: string[];
}

function submit(service: FaultyService, { job = randomUUID(), ...options }: SubmitOptions) {
  const input = { request: { prompt: 'A red fox' }, ...options };
  const run = { ...asJob(job), activityId: randomUUID() };
  return attemptUntilEnd((info) => world.run(activitiesOf(service).submitVideo, input, { ...run, ...info }));
}

const lastTask = (emulator: Emulator) => emulator.generations().at(-1)?.taskId ?? 'no task';

function expectCourse(
  { end, failures }: Ended<{ taskId: string }>,
  { posts, tasks, ends }: Course,
  service: FaultyService,
  emulator: Emulator,
): void {
  if (end instanceof ApplicationFailure) expect(failures.at(-1)).toBe(ends);
  // The task of a model that only generates is the answer to its request, which has the id in it.
  else expect([end.taskId, ends]).toEqual([expect.stringContaining(lastTask(emulator)), 'task']);
  expect({ posts: service.posts.length, tasks: emulator.generations().length }).toEqual({ posts, tasks });
}

test('the tables have every fault for every call', () => {
  const faults = new Set(SUBMITS.map(([fault]) => fault));
  expect(faults.size).toBe(14);
  expect(SUBMITS).toHaveLength(14);
  const rows = new Set(LATER.map(([fault, call]) => `${fault} of a ${call}`));
  expect(rows.size).toBe(2 * 14);
  expect(LATER.filter(([fault]) => faults.has(fault))).toHaveLength(2 * 14);
});

test('in the table, only resubmit sends a second POST after one that may have made a task', () => {
  const lost = SUBMITS.filter(([, failure]) => failure === 'SubmitUnconfirmed');
  expect(new Set(lost.map(([, , otherwise]) => COURSES[otherwise].posts))).toEqual(new Set([1]));
  expect(SUBMITS.filter(([, , otherwise]) => COURSES[otherwise].tasks > 1)).toEqual([]);
});

const CELLS = SUBMITS.flatMap(([fault, failure, otherwise, resubmit]) =>
  LOST_SUBMIT_POLICIES.map(
    (policy) => [fault, policy, policy === 'resubmit' ? resubmit : otherwise, failure] as const,
  ),
);

const PAID_TWICE = SUBMITS.filter(([, , , resubmit]) => COURSES[resubmit].tasks > 1).map(([fault]) => fault);

/** The same promises for whoever speaks to the service. */
const CLIENTS: [name: string, MakeClient][] = [
  ['the service itself', createVideoService],
  [
    'a model of the AI SDK',
    ({ baseUrl, apiKey, timeouts }) => emulatorService({ baseUrl, apiKey: apiKey() }, { timeouts }),
  ],
];

describe.each(CLIENTS)('%s', (_, makeClient) => {
  test.each(CELLS)('%s of a submit, on lost submit %s: %s', async (fault, onLostSubmit, name, failure) => {
    await atService(makeClient, {}, async (service, emulator) => {
      service.next('submit', fault);
      const ended = await submit(service, { onLostSubmit });
      expectCourse(ended, COURSES[name], service, emulator);
      expect(ended.failures).toEqual([failure]);
      const { posts } = COURSES[name];
      const arrived = emulator.calls.filter(({ call }) => call === 'submit').length;
      expect(arrived).toBe(isRead(fault) ? posts : posts - 1);
    });
  });

  test.each(PAID_TWICE)(
    'at a service that honours idempotency keys, %s of a submit is paid for once, even with resubmit',
    async (fault) => {
      await atService(makeClient, { idempotencyKeys: 'honoured' }, async (service, emulator) => {
        service.next('submit', fault);
        const ended = await submit(service, { onLostSubmit: 'resubmit' });
        expectCourse(ended, COURSES['2/1 task'], service, emulator);
      });
    },
  );

  describe('a POST with a key that the service may know', () => {
    test.each([409, 422] as const)(
      'answered %d after the decision to resubmit is lost again',
      async (status) => {
        await atService(makeClient, {}, async (service, emulator) => {
          const job = randomUUID();
          service.next('submit', 'reset after bytes', status);
          const lost = await submit(service, { job, onLostSubmit: 'hold' });
          const repeats = [readFailure(lost.end)?.details.lostSubmit ?? 'not lost'];
          const ended = await submit(service, { job, onLostSubmit: 'hold', repeats });
          expectCourse(ended, { posts: 2, tasks: 1, ends: 'SubmitUnconfirmed' }, service, emulator);
        });
      },
    );

    test.each([409, 422] as const)(
      'answered %d after a lost one is sent again with resubmit',
      async (status) => {
        await atService(makeClient, {}, async (service, emulator) => {
          service.next('submit', 'reset after bytes', status);
          const ended = await submit(service, { onLostSubmit: 'resubmit' });
          expectCourse(ended, { posts: 3, tasks: 2, ends: 'task' }, service, emulator);
        });
      },
    );

    test.each<[first: Fault, ends: FailureType]>([
      [500, 'SubmitUnconfirmed'],
      ['refused', 'InvalidRequest'],
    ])('answered 422 after %s is %s', async (first, ends) => {
      await atService(makeClient, {}, async (service, emulator) => {
        service.next('submit', first, 422);
        const ended = await submit(service, { onLostSubmit: 'hold' });
        expectCourse(ended, { posts: 2, tasks: 0, ends }, service, emulator);
      });
    });
  });

  test.each(LATER)('%s of a %s: %s, and then the task goes on', async (fault, call, failure) => {
    await atService(makeClient, {}, async (service, emulator) => {
      const { end } = await submit(service, { onLostSubmit: 'hold' });
      if (end instanceof ApplicationFailure) throw end;
      service.next(call, fault);
      const { taskId } = end;
      const poll = (info: object) => world.run(activitiesOf(service).pollVideo, { taskId }, info);
      const download = (info: object) => world.run(activitiesOf(service).downloadVideo, { taskId }, info);
      const ended = await (call === 'poll' ? attemptUntilEnd(poll) : attemptUntilEnd(download));
      expect(ended.failures).toEqual(failure === 'recovered' ? [] : [failure]);
      expect(ended.end).not.toBeInstanceOf(ApplicationFailure);
      expect(emulator.generations()).toHaveLength(1);
    });
  });
});
