import { plainLine, progressLine } from '../../src/cli/progress-line';
import type { JobProgress } from '../../src/contract/job';

const START = Date.parse('2026-01-01T00:00:00Z');
const WIDE = 200;

const progress: JobProgress = {
  phase: 'waiting',
  taskId: 'task_1234',
  task: { state: 'running', word: 'rendering', percent: 27.4 },
  polls: 3,
  startedAt: new Date(START).toISOString(),
  deadlineAt: new Date(START + 3_600_000).toISOString(),
  nextPollAt: new Date(START + 50_000).toISOString(),
};
const problem: JobProgress['problem'] = { type: 'RateLimited', message: 'HTTP 429 slow down', count: 2 };
const at45s = START + 45_000;

describe('the live line', () => {
  it('shows phase, percentage, elapsed time, problem, the service’s word, the next poll and, last, the task', () => {
    expect(progressLine({ ...progress, problem }, at45s, WIDE)).toBe(
      'waiting      █████░░░░░░░░░░░░░░░  27 %  45 s  problem: RateLimited  rendering  next poll in 5 s  task_1234',
    );
  });

  it('omits what is not known yet', () => {
    const { startedAt, deadlineAt } = progress;
    expect(progressLine({ phase: 'submitting', polls: 0, startedAt, deadlineAt }, at45s, WIDE)).toBe(
      'submitting   45 s',
    );
    const wordless = { ...progress, task: { state: 'unknown', word: '' } as const, nextPollAt: undefined };
    expect(progressLine(wordless, at45s, WIDE)).toBe('waiting      45 s  task_1234');
  });

  it.each([
    [0, '░'.repeat(20), '  0 %'],
    [50, '█'.repeat(10) + '░'.repeat(10), ' 50 %'],
    [100, '█'.repeat(20), '100 %'],
    [250, '█'.repeat(20), '250 %'],
    [-1, '░'.repeat(20), ' -1 %'],
  ])('at %d %% has a bar of twenty cells', (percent, bar, label) => {
    const task = { state: 'running', word: 'running', percent } as const;
    expect(progressLine({ ...progress, task }, at45s, WIDE)).toContain(` ${bar} ${label} `);
  });

  it.each([
    [60, 'waiting      █████░░░░░░░░░░░░░░░  27 %  45 s'],
    [40, 'waiting      █████░░░░░░░░░░░░░░░  27 %'],
    [20, 'waiting    '],
    [5, 'waiti'],
    [0, ''],
  ])('on %d columns shows whole parts, the most important ones first', (columns, line) => {
    expect(progressLine({ ...progress, problem }, at45s, columns)).toBe(line);
  });

  it('is never longer than the screen', () => {
    for (let columns = 0; columns < WIDE; columns++) {
      expect(progressLine({ ...progress, problem }, at45s, columns).length).toBeLessThanOrEqual(columns);
    }
  });

  it('shows no negative time if the clocks of worker and caller differ', () => {
    expect(progressLine(progress, START - 5_000, WIDE)).toContain('  0 s  ');
    expect(progressLine(progress, START + 90_000, WIDE)).toContain('  next poll in 0 s  ');
  });
});

describe('a job that downloads', () => {
  const downloading: JobProgress = {
    ...progress,
    phase: 'downloading',
    task: { state: 'succeeded', word: 'done', percent: 100 },
    nextPollAt: undefined,
  };

  it('shows no percentage: that of the task is over', () => {
    expect(progressLine(downloading, at45s, WIDE)).toBe('downloading  45 s  done  task_1234');
    expect(plainLine(downloading)).toBe('downloading, task task_1234, the service says done');
  });
});

describe('the line for a pipe', () => {
  it('has only parts that do not change with time', () => {
    expect(plainLine(progress)).toBe('waiting 27 %, task task_1234, the service says rendering');
    expect(plainLine({ ...progress, nextPollAt: undefined })).toBe(plainLine(progress));
    expect(plainLine({ ...progress, phase: 'succeeded', task: undefined })).toBe('stored, task task_1234');
  });

  it('repeats the message of a problem', () => {
    expect(plainLine({ ...progress, problem })).toBe(
      'waiting 27 %, task task_1234, the service says rendering, problem, 2 in a row: HTTP 429 slow down',
    );
  });

  it('shows the state if the service has no word for it', () => {
    expect(plainLine({ ...progress, task: { state: 'unknown', word: '' } })).toBe(
      'waiting, task task_1234, the service says unknown',
    );
  });
});
