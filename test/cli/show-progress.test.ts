import { showProgress } from '../../src/cli/show-progress';
import type { JobProgress } from '../../src/contract/job';
import { FakeTerminal } from './fake-terminal';
import { followed } from './followed';

const waiting = (percent: number): JobProgress => ({
  phase: 'waiting',
  taskId: 'task_1',
  task: { state: 'running', word: 'running', percent },
  polls: 1,
  startedAt: new Date().toISOString(),
  deadlineAt: new Date().toISOString(),
});

/** A job that gives these answers in turn and repeats the last one; undefined is a failed query. */
function jobWith(...answers: (JobProgress | undefined)[]) {
  const progress = async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (!answer) throw new Error('no worker yet');
    return answer;
  };
  return followed('fox', progress);
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('in a pipe each change is one line without escape codes', async () => {
  const terminal = new FakeTerminal();
  const progress = showProgress(
    jobWith(undefined, waiting(10), waiting(10), undefined, waiting(20)),
    terminal,
  );
  await jest.advanceTimersByTimeAsync(5_000);
  progress.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(terminal.stderr).toBe(
    'waiting 10 %, task task_1, the service says running\nwaiting 20 %, task task_1, the service says running\n',
  );
  expect(terminal.stdout).toBe('');
});

test.each([120, 40, 20, 5])(
  'on a terminal of %d columns one line is redrawn and cleared at the end',
  async (columns) => {
    const terminal = new FakeTerminal({}, columns);
    const progress = showProgress(jobWith(waiting(10)), terminal);
    await jest.advanceTimersByTimeAsync(2_000);
    progress.stop();
    const [before, ...drawn] = terminal.stderr.split('\r\u001b[K');
    expect(before).toBe('');
    expect(drawn.pop()).toBe('');
    expect(drawn.length).toBeGreaterThan(3);
    for (const line of drawn) {
      expect(line).toMatch(/^wait\P{Cc}*$/u);
      // The last column stays free, because some terminals wrap as soon as it is filled.
      expect(line.length).toBeLessThan(columns);
    }
  },
);

describe('a missing worker', () => {
  const submitting: JobProgress = {
    ...waiting(0),
    phase: 'submitting',
    task: undefined,
    taskId: undefined,
  };
  const find = jest.fn(async () => 'No worker polls task queue q.');
  beforeEach(() => find.mockClear());

  test.each([
    ['before its first answer', undefined],
    ['while it submits', submitting],
  ])('of a job %s is reported once, after ten seconds', async (_when, answer) => {
    const terminal = new FakeTerminal();
    const progress = showProgress(jobWith(answer), terminal, find);
    await jest.advanceTimersByTimeAsync(9_000);
    expect(find).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(60_000);
    progress.stop();
    expect(find.mock.calls).toEqual([['fox']]);
    expect(terminal.stderr.split('No worker polls task queue q.\n')).toHaveLength(2);
    expect(terminal.stdout).toBe('');
  });

  test('is not looked for once the job waits for its task, or is no longer shown', async () => {
    const terminal = new FakeTerminal();
    const waits = showProgress(jobWith(submitting, waiting(10)), terminal, find);
    showProgress(jobWith(undefined), terminal, find).stop();
    await jest.advanceTimersByTimeAsync(60_000);
    waits.stop();
    expect(find).not.toHaveBeenCalled();
  });

  test('is nothing to worry about when Temporal cannot be asked', async () => {
    const terminal = new FakeTerminal();
    const progress = showProgress(jobWith(undefined), terminal, () => Promise.reject(new Error('no')));
    await jest.advanceTimersByTimeAsync(60_000);
    progress.stop();
    expect(terminal.stderr).toBe('');
  });
});

test.each([undefined, 100])(
  'a hold is shown once, with the decision commands, on a screen of %j columns',
  async (columns) => {
    const hold = {
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      message: 'It was lost.',
    };
    const held: JobProgress = {
      ...waiting(0),
      phase: 'needs-decision',
      task: undefined,
      taskId: undefined,
      hold,
    };
    const again = { ...held, hold: { ...hold, since: '2026-01-01T05:00:00.000Z' } };
    const terminal = new FakeTerminal({}, columns);
    const progress = showProgress(jobWith(held, held, waiting(10), again), terminal);
    await jest.advanceTimersByTimeAsync(5_000);
    progress.stop();
    const count = (text: string) => terminal.stderr.split(text).length - 1;
    expect(count('It was lost.\n')).toBe(2);
    for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
      expect(count(`videogen decide fox ${option}`)).toBe(2);
    expect(count('decide before 2026-01-02T00:00:00.000Z')).toBe(2);
  },
);
