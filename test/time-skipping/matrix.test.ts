import { readFile } from 'node:fs/promises';
import type { VideoJob } from '../../src/client/video-job';
import {
  FAILURES,
  type FailureType,
  type JobPhase,
  type JobProgress,
  type LostSubmitPolicy,
} from '../../src/contract';
import type { Call } from '../../src/contract/failure-table';
import { LOST_SUBMIT_POLICIES } from '../../src/contract/lost-submit';
import type { EmulatorOptions } from '../../src/emulator';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import {
  isRead,
  type MatrixCell,
  type MatrixFault,
  type MatrixWorld,
  startMatrixWorld,
} from '../support/matrix-world';
import { atLength } from '../support/nightly';
import { failureOf, untilProgress } from '../support/world';

/** How a job continues. `tasks` counts those at the service, which a user pays for. */
interface Course {
  reads: string;
  posts: number;
  tasks: number;
  /** The decision in the phase `needs-decision`. Without it, the job never gets there. */
  held?: 'adopt' | 'abandon';
  outcome: 'video' | FailureType;
  phase: JobPhase;
}

// biome-ignore format: a table is read by its columns.
const COURSES = {
  '1/1 video':             { posts: 1, tasks: 1, outcome: 'video', phase: 'succeeded', reads: 'one POST, succeeds' },
  '2/1 video':             { posts: 2, tasks: 1, outcome: 'video', phase: 'succeeded', reads: 'two POSTs and one task, succeeds' },
  '2/2 video':             { posts: 2, tasks: 2, outcome: 'video', phase: 'succeeded', reads: 'two POSTs and two tasks, succeeds' },
  '1/1 held':              { posts: 1, tasks: 1, held: 'adopt', outcome: 'video', phase: 'succeeded', reads: 'one POST, held; adopted it succeeds' },
  '1/0 held':              { posts: 1, tasks: 0, held: 'abandon', outcome: 'SubmitUnconfirmed', phase: 'failed', reads: 'one POST, held; abandoned it ends as SubmitUnconfirmed' },
  '1/1 SubmitUnconfirmed': { posts: 1, tasks: 1, outcome: 'SubmitUnconfirmed', phase: 'failed', reads: 'one POST, ends as SubmitUnconfirmed' },
  '1/0 SubmitUnconfirmed': { posts: 1, tasks: 0, outcome: 'SubmitUnconfirmed', phase: 'failed', reads: 'one POST and no task, ends as SubmitUnconfirmed' },
  '1/0 InvalidRequest':    { posts: 1, tasks: 0, outcome: 'InvalidRequest', phase: 'failed', reads: 'one POST, ends as InvalidRequest' },
} as const satisfies Record<string, Course>;

type CourseName = keyof typeof COURSES;

/**
 * The fault of the first call of a kind; the failure of that call, unless the same attempt recovers from it; and how the job continues under each
 * `onLostSubmit`, as POSTs / tasks and the outcome (see `COURSES`).
 *
 * "Reset before bytes" is a connection that is reset before the request begins. With "reset unread" the request has
 * left; the client cannot know that the server did not read it, so the submit counts as lost.
 */
// biome-ignore format: a table is read by its columns.
const TABLE: [fault: MatrixFault, call: Call, failure: FailureType | 'recovered', hold: CourseName, resubmit: CourseName, fail: CourseName][] = [
  ['refused',            'submit',   'ServiceUnreachable', '2/1 video',          '2/1 video',          '2/1 video'],
  ['reset before bytes', 'submit',   'ServiceUnreachable', '2/1 video',          '2/1 video',          '2/1 video'],
  ['reset unread',       'submit',   'SubmitUnconfirmed',  '1/0 held',           '2/1 video',          '1/0 SubmitUnconfirmed'],
  ['reset after bytes',  'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],
  ['cut in headers',     'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],
  ['cut in body',        'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],
  ['hang',               'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],
  [429,                  'submit',   'RateLimited',        '2/1 video',          '2/1 video',          '2/1 video'],
  [500,                  'submit',   'ServiceFailed',      '2/1 video',          '2/1 video',          '2/1 video'],
  [409,                  'submit',   'SubmitUnconfirmed',  '1/0 held',           '2/1 video',          '1/0 SubmitUnconfirmed'],
  [303,                  'submit',   'SubmitUnconfirmed',  '1/0 held',           '2/1 video',          '1/0 SubmitUnconfirmed'],
  [422,                  'submit',   'InvalidRequest',     '1/0 InvalidRequest', '1/0 InvalidRequest', '1/0 InvalidRequest'],
  ['bad JSON',           'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],
  ['empty 200',          'submit',   'SubmitUnconfirmed',  '1/1 held',           '2/2 video',          '1/1 SubmitUnconfirmed'],

  ['refused',            'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset before bytes', 'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset unread',       'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset after bytes',  'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['cut in headers',     'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['cut in body',        'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['hang',               'poll',    'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  [429,                  'poll',    'RateLimited',        '1/1 video',          '1/1 video',          '1/1 video'],
  [500,                  'poll',    'ServiceFailed',      '1/1 video',          '1/1 video',          '1/1 video'],
  [409,                  'poll',    'AnswerUnreadable',   '1/1 video',          '1/1 video',          '1/1 video'],
  [303,                  'poll',    'AnswerUnreadable',   '1/1 video',          '1/1 video',          '1/1 video'],
  [422,                  'poll',    'AnswerUnreadable',   '1/1 video',          '1/1 video',          '1/1 video'],
  ['bad JSON',           'poll',    'AnswerUnreadable',   '1/1 video',          '1/1 video',          '1/1 video'],
  ['empty 200',          'poll',    'AnswerUnreadable',   '1/1 video',          '1/1 video',          '1/1 video'],

  ['refused',            'download', 'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset before bytes', 'download', 'ServiceUnreachable', '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset unread',       'download', 'recovered',          '1/1 video',          '1/1 video',          '1/1 video'],
  ['reset after bytes',  'download', 'recovered',          '1/1 video',          '1/1 video',          '1/1 video'],
  ['cut in headers',     'download', 'recovered',          '1/1 video',          '1/1 video',          '1/1 video'],
  ['cut in body',        'download', 'recovered',          '1/1 video',          '1/1 video',          '1/1 video'],
  ['hang',               'download', 'recovered',          '1/1 video',          '1/1 video',          '1/1 video'],
  [429,                  'download', 'RateLimited',        '1/1 video',          '1/1 video',          '1/1 video'],
  [500,                  'download', 'ServiceFailed',      '1/1 video',          '1/1 video',          '1/1 video'],
  [409,                  'download', 'VideoUnavailable',   '1/1 video',          '1/1 video',          '1/1 video'],
  [303,                  'download', 'VideoUnavailable',   '1/1 video',          '1/1 video',          '1/1 video'],
  [422,                  'download', 'VideoUnavailable',   '1/1 video',          '1/1 video',          '1/1 video'],
  ['bad JSON',           'download', 'VideoCorrupt',       '1/1 video',          '1/1 video',          '1/1 video'],
  ['empty 200',          'download', 'VideoCorrupt',       '1/1 video',          '1/1 video',          '1/1 video'],
];

interface Cell {
  fault: MatrixFault;
  call: Call;
  policy: LostSubmitPolicy;
  failure: FailureType | 'recovered';
  course: Course;
}

const CELLS: Cell[] = TABLE.flatMap(([fault, call, failure, ...courses]) =>
  LOST_SUBMIT_POLICIES.map((policy, index) => ({
    fault,
    call,
    policy,
    failure,
    course: COURSES[courses[index] as CourseName],
  })),
);

/** After the submit, the policy makes no difference, so the suite runs one of the three cells. */
const RUN = atLength(
  CELLS.filter(({ call, fault, policy }) => call === 'submit' || policy === policyOf(call, fault)),
  CELLS,
);

/** Spreads the policies over the faults of a call. */
function policyOf(call: Call, fault: MatrixFault): LostSubmitPolicy | undefined {
  const rows = TABLE.filter((row) => row[1] === call).map((row) => row[0]);
  return LOST_SUBMIT_POLICIES[rows.indexOf(fault) % LOST_SUBMIT_POLICIES.length];
}

const named = (cells: Cell[]) =>
  cells.map((cell) => {
    const { fault, call, policy, course } = cell;
    return [`${fault} of a ${call}, on lost submit ${policy}: ${course.reads}`, cell] as const;
  });

let env: VideoTestEnvironment;
let world: MatrixWorld;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
  world = await startMatrixWorld(env);
});
afterAll(async () => {
  await world.close();
  await env.teardown();
});

test('the table has every fault for every call', () => {
  const faults = new Set(TABLE.map(([fault]) => fault));
  const rows = new Set(TABLE.map(([fault, call]) => `${fault} of a ${call}`));
  expect(faults.size).toBe(14);
  expect(rows.size).toBe(faults.size * 3);
  expect(TABLE).toHaveLength(rows.size);
});

test('in the table, only resubmit sends a second POST after one that may have made a task', () => {
  const isLost = ({ failure }: Cell) => failure === 'SubmitUnconfirmed';
  const twice = CELLS.filter((cell) => cell.course.tasks > 1 || (isLost(cell) && cell.course.posts > 1));
  expect(new Set(twice.map(({ policy }) => policy))).toEqual(new Set(['resubmit']));
});

test('in the table, all policies are the same once there is a task', () => {
  const later = TABLE.filter(([, call]) => call !== 'submit');
  const courses = new Set(later.flatMap(([, , , ...named]) => named));
  expect([...courses]).toEqual(['1/1 video']);
});

test.each(named(RUN))('%s', async (_, { fault, call, policy, failure, course }) => {
  await inCell({ call, faults: [fault], policy }, async (cell, job) => {
    await expectCourse(cell, job, course);
    const isLast = call === 'submit' && course.posts === 1;
    const attempts = failure === 'recovered' ? ['ok'] : [failure, 'ok'];
    expect(cell.attempts[call]).toEqual(isLast ? [failure] : attempts);
    const unread = call === 'submit' && !isRead(fault) ? 1 : 0;
    expect(cell.emulator.calls.filter((one) => one.call === 'submit')).toHaveLength(course.posts - unread);
  });
});

const PAID_ONCE = CELLS.filter(({ course }) => course.tasks > 1).map((cell) => ({
  ...cell,
  course: COURSES['2/1 video'],
}));

test.each(named(PAID_ONCE))(
  'at a service that honours idempotency keys, %s',
  async (_, { fault, call, policy, course }) => {
    await inCell({ call, faults: [fault], policy, idempotencyKeys: 'honoured' }, (cell, job) =>
      expectCourse(cell, job, course),
    );
  },
);

describe('a POST with a key that the service may know', () => {
  const call = 'submit';

  test.each([[409], [422]] as const)(
    'answered %d after the decision to resubmit is held again, and is not a refused request',
    async (status) => {
      await inCell({ call, faults: ['reset after bytes', status], policy: 'hold' }, async (cell, job) => {
        await expectHeld(job);
        await job.decideSubmit({ decision: 'resubmit' });
        expect((await expectHeld(job)).message).toContain(`HTTP ${status}`);
        await job.decideSubmit({ decision: 'adopt', taskId: newestTask(cell) });
        await expectVideo(cell, job);
        expectCounts(cell, { posts: 2, tasks: 1 });
      });
    },
  );

  test.each([[409], [422]] as const)(
    'answered %d after a lost one is sent again with the policy resubmit',
    async (status) => {
      await inCell({ call, faults: ['reset after bytes', status], policy: 'resubmit' }, async (cell, job) => {
        await expectVideo(cell, job);
        expectCounts(cell, { posts: 3, tasks: 2 });
      });
    },
  );

  test('answered 422 after a 500 is held: the service may know the key', async () => {
    await inCell({ call, faults: [500, 422], policy: 'hold' }, async (cell, job) => {
      // Skips the pause before the second POST; time is skipped only while a test sleeps or awaits a result.
      await env.temporal.sleep('10s');
      expect((await expectHeld(job)).message).toContain('HTTP 422');
      await job.decideSubmit({ decision: 'abandon' });
      expectRow(await failureOf(job.result()), 'SubmitUnconfirmed', undefined);
      expectCounts(cell, { posts: 2, tasks: 0 });
    });
  });

  test('answered 422 after one that was never sent is a refused request', async () => {
    await inCell({ call, faults: ['refused', 422], policy: 'hold' }, async (cell, job) => {
      expectRow(await failureOf(job.result()), 'InvalidRequest', undefined);
      expectCounts(cell, { posts: 2, tasks: 0 });
    });
  });
});

interface CellOptions extends EmulatorOptions {
  call: Call;
  faults: MatrixFault[];
  policy: LostSubmitPolicy;
}

/** Starts one job with its own service, and expects that it met all faults. */
async function inCell(
  { call, faults, policy, ...emulatorOptions }: CellOptions,
  work: (cell: MatrixCell, job: VideoJob) => Promise<void>,
): Promise<void> {
  await world.inCell(emulatorOptions, async (cell) => {
    cell.next(call, ...faults);
    const request = { prompt: `${faults} of a ${call}, ${policy}` };
    const job = await world.videos.start({ request, onLostSubmit: policy });
    try {
      await work(cell, job);
    } catch (error) {
      // A job left running would disturb the next test.
      const handle = env.temporal.client.workflow.getHandle(job.workflowId);
      await handle.terminate('its test has failed').catch(() => undefined);
      throw error;
    }
    expect(cell.unmet()).toEqual([]);
    expect(new Set(cell.posts).size).toBe(1);
  });
}

async function expectCourse(cell: MatrixCell, job: VideoJob, course: Course): Promise<void> {
  const { posts, tasks, held, outcome, phase } = course;
  // Before awaiting the result, which would skip the time of a hold or of a retry.
  if (held === undefined && phase === 'failed') expect((await untilSubmitted(job)).phase).toBe(phase);
  if (held !== undefined) {
    await expectHeld(job);
    expectCounts(cell, { posts, tasks });
    await job.decideSubmit(
      held === 'adopt' ? { decision: held, taskId: newestTask(cell) } : { decision: held },
    );
  }
  if (outcome === 'video') await expectVideo(cell, job);
  else expectRow(await failureOf(job.result()), outcome, undefined);
  expect((await job.progress()).phase).toBe(phase);
  expectCounts(cell, { posts, tasks });
}

/** The progress after the submit, which needs no skipped time. Gives up on a job that keeps submitting. */
function untilSubmitted(job: VideoJob): Promise<JobProgress> {
  const giveUpAt = Date.now() + 15_000;
  return untilProgress(job, ({ phase }) => phase !== 'submitting' || Date.now() > giveUpAt);
}

async function expectHeld(job: VideoJob): Promise<NonNullable<JobProgress['hold']>> {
  const { phase, taskId, hold } = await untilSubmitted(job);
  expect({ phase, taskId }).toEqual({ phase: 'needs-decision', taskId: undefined });
  if (hold === undefined) throw new Error('a job that needs a decision does not say until when');
  expect(Date.parse(hold.until) - Date.parse(hold.since)).toBe(24 * 60 * 60 * 1_000);
  expect(hold.message).toContain(FAILURES.SubmitUnconfirmed.meaning);
  return hold;
}

/** The video of the newest task, stored as the service has it. */
async function expectVideo(cell: MatrixCell, job: VideoJob): Promise<void> {
  const { taskId, video } = await job.result();
  expect(taskId).toBe(newestTask(cell));
  const stored = await readFile(new URL(video.uri));
  expect(stored.equals(await cell.emulator.video(taskId))).toBe(true);
}

function expectCounts({ posts, emulator }: MatrixCell, expected: { posts: number; tasks: number }): void {
  expect({ posts: posts.length, tasks: emulator.generations().length }).toEqual(expected);
}

function newestTask({ emulator }: MatrixCell): string {
  const task = emulator.generations().at(-1);
  if (task === undefined) throw new Error('the service has made no task');
  return task.taskId;
}
