import { showProgress } from '../../src/cli/live-view';
import { screenLines } from '../../src/cli/progress-lines';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import type { JobProgress } from '../../src/contract/job';
import { FakeTerminal } from './fake-terminal';
import { followed } from './followed';
import { screenOf } from './screen';

const ROWS = 12;
const QUERY_MS = 500;
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
const withoutTask = { taskId: undefined, task: undefined };
const submitting: JobProgress = { ...waiting(), ...withoutTask, phase: 'submitting' };
const held = (since = startedAt): JobProgress => ({
  ...waiting(),
  ...withoutTask,
  phase: 'needs-decision',
  hold: { since, until, message: 'It was lost.' },
});
const item = (number: number, progress = waiting(10, `task_${number}`)): ItemProgress => ({
  item: number,
  name: `foxes-${number}`,
  ...(progress.hold && { isHeld: true }),
  progress,
});
const items = (...numbers: number[]) => numbers.map((number) => item(number));
const batchOf = (succeeded: number, running: ItemProgress[]): BatchProgress => ({
  items: 40,
  succeeded,
  failed: 0,
  running,
});

/** A job or a batch that gives these answers in turn and repeats the last one; undefined is a failed query. */
function answering<Progress>(workflowId: string, ...answers: (Progress | undefined)[]) {
  return followed(workflowId, async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (!answer) throw new Error('no worker yet');
    return answer;
  });
}

beforeEach(() => {
  jest.useFakeTimers({ now: Date.parse(startedAt) });
});
afterEach(() => {
  jest.useRealTimers();
});

async function shown(job: Parameters<typeof showProgress>[0], terminal: FakeTerminal): Promise<string> {
  const progress = showProgress(job, terminal);
  await jest.advanceTimersByTimeAsync(20 * QUERY_MS);
  progress.stop();
  await jest.advanceTimersByTimeAsync(20 * QUERY_MS);
  expect(terminal.stdout).toBe('');
  return terminal.stderr;
}

const count = (text: string, part: string) => text.split(part).length - 1;

test('in a pipe each change is one line without escape codes', async () => {
  const job = answering('fox', undefined, waiting(10), waiting(10), undefined, waiting(20));
  expect(await shown(job, new FakeTerminal())).toBe(
    'waiting 10 %, task task_1, the service says running\nwaiting 20 %, task task_1, the service says running\n',
  );
  const batch = answering(
    'foxes',
    undefined,
    batchOf(2, items(3, 4)),
    batchOf(3, items(4)),
    batchOf(3, [item(4, waiting(99))]),
    undefined,
    batchOf(4, []),
  );
  expect(await shown(batch, new FakeTerminal())).toBe(
    '2 of 40 stored, 2 under way\n3 of 40 stored, 1 under way\n4 of 40 stored\n',
  );
});

test.each([120, 40, 20, 9, 5])(
  'on a terminal of %d columns the lines are redrawn, and cleared at the end',
  async (columns) => {
    const answers = [
      waiting(10),
      batchOf(1, items(2, 3)),
      // More than fit the rows.
      batchOf(3, items(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)),
      batchOf(17, items(18)),
      batchOf(30, []),
      batchOf(30, items(31, 32, 33)),
    ];
    const terminal = new FakeTerminal({}, columns, ROWS);
    terminal.err('$ videogen batch\n'.slice(-columns));
    const before = screenOf(terminal.stderr, columns);
    let latest = answers[0];
    const progress = showProgress(
      followed('foxes', async () => latest ?? waiting()),
      terminal,
    );
    for (latest of answers) {
      await jest.advanceTimersByTimeAsync(2 * QUERY_MS);
      // The last column stays free, because some terminals wrap as soon as it is filled.
      const lines = screenLines(latest, Date.now(), columns - 1, ROWS);
      const drawn = screenOf(terminal.stderr, columns);
      expect(withoutTimes(drawn)).toEqual(withoutTimes([...before, ...lines]));
      expect(lines.length).toBeLessThan(ROWS);
    }
    progress.stop();
    await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
    expect(screenOf(terminal.stderr, columns)).toEqual(before);
  },
);

/** Removes the parts that change every second. */
function withoutTimes(lines: string[]): string[] {
  return lines.map((line) => line.replace(/ {2}\d+ s.*/, '').trimEnd());
}

test('nothing is drawn or cleared before a worker has answered', async () => {
  expect(await shown(answering<JobProgress>('fox', undefined), new FakeTerminal({}, 80, ROWS))).toBe('');
});

describe('a missing worker', () => {
  const find = jest.fn(async () => 'No worker polls task queue q.');
  beforeEach(() => find.mockClear());

  test.each<[string, JobProgress | BatchProgress | undefined, number | undefined]>([
    ['of a job before its first answer', undefined, undefined],
    ['of a job while it submits', submitting, 100],
    ['of a batch while every item submits', batchOf(0, [item(1, submitting)]), 100],
  ])('%s is reported once, after ten seconds', async (_what, answer, columns) => {
    const terminal = new FakeTerminal({}, columns, ROWS);
    const progress = showProgress(answering('fox', answer), terminal, find);
    await jest.advanceTimersByTimeAsync(9_000);
    expect(find).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(60_000);
    progress.stop();
    expect(find.mock.calls).toEqual([['fox']]);
    expect(count(terminal.stderr, 'No worker polls task queue q.\n')).toBe(1);
  });

  test('is not looked for once the job waits for its task, or is no longer shown', async () => {
    const terminal = new FakeTerminal();
    const moving = [
      showProgress(answering('fox', submitting, waiting()), terminal, find),
      showProgress(answering('foxes', batchOf(0, items(1))), terminal, find),
    ];
    showProgress(answering<JobProgress>('fox', undefined), terminal, find).stop();
    await jest.advanceTimersByTimeAsync(60_000);
    for (const one of moving) one.stop();
    expect(find).not.toHaveBeenCalled();
  });

  test('is nothing to worry about when Temporal cannot be asked', async () => {
    const terminal = new FakeTerminal();
    const failing = () => Promise.reject(new Error('no'));
    const progress = showProgress(answering<JobProgress>('fox', undefined), terminal, failing);
    await jest.advanceTimersByTimeAsync(60_000);
    progress.stop();
    expect(terminal.stderr).toBe('');
  });
});

describe.each([undefined, 100])('a hold on a screen of %j columns', (columns) => {
  const later = '2026-01-01T05:00:00.000Z';
  const DECIDE = `decide before ${until}; after that the job fails:\n`;

  it('of a job is shown once, with the decision commands, and again if the job is held again', async () => {
    const job = answering('fox', held(), held(), waiting(10), held(later));
    const err = await shown(job, new FakeTerminal({}, columns, ROWS));
    expect([count(err, 'It was lost.\n'), count(err, DECIDE)]).toEqual([2, 2]);
    for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
      expect(count(err, `  videogen decide fox ${option}   # `)).toBe(2);
  });

  it('of a batch is shown once for each item, and again if the item is held again', async () => {
    const batch = answering(
      'foxes',
      batchOf(0, [item(7, held())]),
      batchOf(0, [item(7, held()), item(12, held())]),
      batchOf(3, [item(7), item(9)]),
      batchOf(3, [item(12, held(later))]),
    );
    const err = await shown(batch, new FakeTerminal({}, columns, ROWS));
    for (const [number, times] of [
      [7, 1],
      [12, 2],
    ]) {
      expect(count(err, `Item ${number}: It was lost.\n`)).toBe(times);
      for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
        expect(count(err, `  videogen decide foxes-${number} ${option}   # `)).toBe(times);
    }
    expect(count(err, DECIDE)).toBe(3);
  });
});

test('a hold stays on the terminal above the redrawn lines', async () => {
  const terminal = new FakeTerminal({}, 120, ROWS);
  const batch = answering('foxes', batchOf(1, items(2, 3, 4)), batchOf(4, [item(5, held())]));
  const progress = showProgress(batch, terminal);
  await jest.advanceTimersByTimeAsync(10 * QUERY_MS);
  const drawn = screenOf(terminal.stderr, 120);
  expect(drawn).toHaveLength(7);
  expect(drawn[0]).toBe('Item 5: It was lost.');
  expect(drawn[4]).toContain('videogen decide foxes-5 --abandon');
  expect(drawn[5]).toContain('4 of 40 stored, 1 under way');
  progress.stop();
  expect(screenOf(terminal.stderr, 120)).toEqual(drawn.slice(0, 5));
});

describe('following', () => {
  /** Each call of `follow` reports these, and then fails or ends. */
  function following(...rounds: { reports: number[]; fails: boolean }[]) {
    const signals: (AbortSignal | undefined)[] = [];
    async function* follow({ signal }: { signal?: AbortSignal } = {}) {
      signals.push(signal);
      const { reports = [], fails } = rounds[Math.min(signals.length, rounds.length) - 1] ?? {};
      for (const percent of reports) yield waiting(percent);
      if (fails) throw new Error('Temporal is unreachable');
    }
    return { workflowId: 'fox', follow, signals };
  }
  const percents = (text: string) => [...text.matchAll(/waiting (\d+) %/g)].map(([, percent]) => percent);

  test('continues after Temporal was unreachable, and ends with the job', async () => {
    const job = following(
      { reports: [1], fails: true },
      { reports: [], fails: true },
      { reports: [2, 3], fails: false },
    );
    expect(percents(await shown(job, new FakeTerminal()))).toEqual(['1', '2', '3']);
    expect(job.signals).toHaveLength(3);
  });

  test('asks an unreachable Temporal until `stop`, and not after it', async () => {
    const job = following({ reports: [], fails: true });
    const progress = showProgress(job, new FakeTerminal());
    await jest.advanceTimersByTimeAsync(5_000);
    progress.stop();
    const calls = job.signals.length;
    expect(calls).toBeGreaterThan(5);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(job.signals).toHaveLength(calls);
    expect(job.signals[0]?.aborted).toBe(true);
  });

  test('shows nothing that is answered after `stop`', async () => {
    let answer = (_progress: JobProgress) => {};
    async function* follow() {
      yield await new Promise<JobProgress>((resolve) => {
        answer = resolve;
      });
    }
    const terminal = new FakeTerminal();
    showProgress({ workflowId: 'fox', follow }, terminal).stop();
    answer(waiting());
    await jest.advanceTimersByTimeAsync(60_000);
    expect(terminal.stderr).toBe('');
  });
});
