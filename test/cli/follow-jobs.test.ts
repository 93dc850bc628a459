import { findJob } from '../../src/cli/find-job';
import { followJob } from '../../src/cli/follow-jobs';
import type { Progress } from '../../src/cli/job-lines';
import type { JobsSession } from '../../src/cli/open-jobs';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import type { JobProgress } from '../../src/contract/job';
import { FakeTerminal } from './fake-terminal';

jest.mock('../../src/cli/find-job');
// Jest's fake timers leave Node's promises of timers alone.
jest.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, ms, value);
      signal?.addEventListener('abort', () => reject(signal.reason));
    }),
}));

const startedAt = '2026-01-01T00:00:00.000Z';
const until = '2026-01-02T00:00:00.000Z';

const waiting = (percent = 10, taskId = 'task_1'): JobProgress => ({
  phase: 'waiting',
  taskId,
  task: { state: 'running', word: 'running', percent },
  polls: 1,
  startedAt,
  deadlineAt: startedAt,
});
const without = { taskId: undefined, task: undefined };
const submitting: JobProgress = { ...waiting(), ...without, phase: 'submitting' };
const held = (since = startedAt): JobProgress => ({
  ...waiting(),
  ...without,
  phase: 'needs-decision',
  hold: { since, until, message: 'It was lost.' },
});
const item = (number: number): ItemProgress => ({ item: number, name: `foxes-${number}` });
const batchOf = (succeeded: number, ...running: ItemProgress[]): BatchProgress => ({
  items: 40,
  succeeded,
  failed: 0,
  running,
});

/** What is answered in turn: a progress, no worker, no Temporal, the end. */
type Answer = Progress | 'no worker' | 'no Temporal' | 'ended';

beforeEach(() => {
  jest.useFakeTimers({ now: Date.parse(startedAt) });
});
afterEach(() => {
  jest.useRealTimers();
});

interface Follow {
  terminal?: FakeTerminal;
  asJson?: boolean;
  missing?: () => Promise<string | undefined>;
}

/** Follows a job that gives these answers in turn and repeats the last one; Ctrl-C comes after a minute. */
async function follow(
  answers: Answer[],
  { terminal = new FakeTerminal(), asJson, missing = async () => undefined }: Follow = {},
) {
  let now: Answer | undefined;
  jest.mocked(findJob).mockImplementation(async (_session, workflowId) => {
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? 'no Temporal';
    if (answer === 'no Temporal') throw new Error('it is away');
    now = answer;
    const kind = typeof answer === 'object' && 'running' in answer ? 'batch' : 'job';
    const end = answer === 'ended' ? { state: 'succeeded', endedAt: until } : { state: 'running' };
    return { workflowId, runId: '', kind, startedAt, taskQueue: 'q', ...end } as never;
  });
  const interrupted = new AbortController();
  const handle = () => ({
    progress: async () => {
      if (typeof now !== 'object') throw new Error('no worker');
      return now;
    },
  });
  const session = {
    signal: interrupted.signal,
    client: {
      withAbortSignal: (_signal: unknown, read: () => unknown) => read(),
      withDeadline: (_ms: unknown, read: () => unknown) => read(),
    },
    videos: { handle, batch: handle },
    describeMissingWorker: missing,
  } as unknown as JobsSession;
  const following = followJob(session, 'fox', terminal, asJson);
  following.catch(() => undefined);
  await jest.advanceTimersByTimeAsync(60_000);
  interrupted.abort();
  await jest.advanceTimersByTimeAsync(1_000);
  return { row: await following, out: terminal.stdout, err: terminal.stderr };
}

const count = (text: string, part: string) => text.split(part).length - 1;

test('in a pipe each change is one line without escape codes, until the job has ended', async () => {
  const { row, out, err } = await follow([
    'no worker',
    waiting(10),
    waiting(10),
    'no worker',
    waiting(20),
    'ended',
  ]);
  expect([out, row?.state]).toEqual(['', 'succeeded']);
  expect(err).toBe(
    'waiting 10 %, the service says running, task task_1\nwaiting 20 %, the service says running, task task_1\n',
  );
  const batch = await follow([batchOf(2, item(3)), batchOf(3), batchOf(3, item(4)), 'ended']);
  expect(batch.err).toBe('2 of 40 stored, 1 under way\n3 of 40 stored\n3 of 40 stored, 1 under way\n');
});

test('JSON lines go to standard output', async () => {
  const { out, err } = await follow([submitting, waiting(10), 'ended'], { asJson: true });
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ workflowId, state, progress }) => [workflowId, state, progress?.phase])).toEqual([
    ['fox', 'running', 'submitting'],
    ['fox', 'running', 'waiting'],
    ['fox', 'succeeded', undefined],
  ]);
  expect(err).toBe('');
});

test('on a terminal one line is drawn again and again without wrapping, and cleared at the end', async () => {
  const terminal = new FakeTerminal({}, true);
  const { err } = await follow([waiting(), batchOf(0, item(1)), batchOf(19, item(20)), 'ended'], {
    terminal,
  });
  const [before = '', ...lines] = err.split('\r\u001b[K');
  expect(before).toBe('');
  expect(lines.pop()).toBe('');
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines)
    expect(line.split('\u001b')).toEqual(['', expect.stringMatching(/^\[\?7l[^\n]+$/), '[?7h']);
});

test.each([false, true])(
  'a hold is shown once, on a screen (%j) too, and again if it is another',
  async (isTerminal) => {
    const later = '2026-01-01T05:00:00.000Z';
    const terminal = new FakeTerminal({}, isTerminal);
    const { err } = await follow([held(), held(), waiting(), held(later)], { terminal });
    expect(count(err, 'It was lost.\n')).toBe(2);
    expect(count(err, `decide before ${until}; after that the job fails:\n`)).toBe(2);
    for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
      expect(count(err, `  videogen decide fox ${option}   # `)).toBe(2);
    const batch = await follow([
      batchOf(0, { item: 9, name: 'foxes-9', isHeld: true }),
      'no worker',
      batchOf(0, { item: 9, name: 'foxes-9', isHeld: true }),
      batchOf(0, item(9)),
      batchOf(0, { item: 9, name: 'foxes-9', isHeld: true }),
    ]);
    expect(count(batch.err, 'Item 9 lost its submit: a paid task may exist.\n')).toBe(2);
    expect(count(batch.err, '  videogen decide foxes-9 --abandon')).toBe(2);
  },
);

test.each<[string, Answer, number]>([
  ['before the first answer', 'no worker', 1],
  ['while a job submits', submitting, 1],
  ['while every item of a batch submits', batchOf(0, item(1)), 1],
  ['while a job waits for its task', waiting(), 1],
  ['of a job that has ended', 'ended', 0],
])('a missing worker %s is reported this often: %s %d', async (_when, answer, times) => {
  const missing = jest.fn(async () => 'No worker polls task queue q.');
  const { err } = await follow([answer], { missing });
  expect(missing).toHaveBeenCalledTimes(times);
  expect(count(err, 'No worker polls task queue q.\n')).toBe(times);
});

test('while Temporal is away it is tried again, and the first answer must come', async () => {
  const { err, row } = await follow([waiting(), 'no Temporal', 'no Temporal', waiting(), 'ended']);
  expect(err.match(/Temporal (has not answered since .* \(it is away\)|answers again)/g)).toHaveLength(2);
  expect(row?.state).toBe('succeeded');
  await expect(follow(['no Temporal'])).rejects.toThrow('it is away');
});

test('Ctrl-C ends it without a row', async () => {
  expect((await follow([waiting()])).row).toBeUndefined();
});

test('after ten seconds a job is read every two seconds: each reading is a query, which may be billed', async () => {
  jest.mocked(findJob).mockClear();
  await follow([waiting()]);
  expect(jest.mocked(findJob).mock.calls.length).toBeLessThan(10 * 2 + 50 / 2 + 3);
});
