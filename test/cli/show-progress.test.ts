import { showProgress } from '../../src/cli/show-progress';
import type { JobProgress } from '../../src/contract';
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
