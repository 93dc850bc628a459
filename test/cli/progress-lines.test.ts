import { plainLine, screenLines, storedLines } from '../../src/cli/progress-lines';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import type { JobProgress, JobResult } from '../../src/contract/job';

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

const progressLine = (given: JobProgress, nowMs: number, columns: number) =>
  screenLines(given, nowMs, columns, 24)[0] ?? '';

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

const item = (number: number): ItemProgress => ({
  item: number,
  name: `foxes-${number}`,
  progress: {
    phase: 'waiting',
    taskId: `task_${number}`,
    task: { state: 'running', word: 'rendering', percent: 50 },
    polls: 1,
    startedAt: new Date(START).toISOString(),
    deadlineAt: new Date(START + 3_600_000).toISOString(),
  },
});
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 8));
const batch = (more: Partial<BatchProgress> = {}): BatchProgress => ({
  items: 40,
  succeeded: 0,
  failed: 0,
  running: [],
  ...more,
});

describe('the line of a batch', () => {
  it.each<[Partial<BatchProgress>, string]>([
    [{}, '0 of 40 stored'],
    [{ items: undefined }, '0 of ? stored'],
    [{ succeeded: 12, failed: 1, running: items(20) }, '12 of 40 stored, 1 failed, 20 under way'],
    [{ succeeded: 39, failed: 1 }, '39 of 40 stored, 1 failed'],
    [
      { failed: 1, running: items(2), stopping: 'item 3 failed' },
      '0 of 40 stored, 1 failed, 2 under way, no new items start: item 3 failed',
    ],
  ])('with %j is %s', (more, line) => {
    expect(plainLine(batch(more))).toBe(line);
  });
});

describe('the screen of a batch', () => {
  const screen = (more: Partial<BatchProgress>, columns = 200, rows = 24) =>
    screenLines(batch(more), at45s, columns, rows);

  it('shows the batch, then each running item, with aligned numbers', () => {
    const line = 'waiting      ██████████░░░░░░░░░░  50 %  45 s  rendering  ';
    expect(screen({ succeeded: 6, failed: 4, running: items(3) })).toEqual([
      '█████░░░░░░░░░░░░░░░  25 %  6 of 40 stored, 4 failed, 3 under way',
      ` 8  ${line}task_8`,
      ` 9  ${line}task_9`,
      `10  ${line}task_10`,
    ]);
  });

  it.each<[Partial<BatchProgress>, string]>([
    [{ items: undefined }, '  0 %'],
    [{ items: 3, succeeded: 2 }, ' 66 %'],
    // Not 100 before all items have ended.
    [{ items: 1_000, succeeded: 998, failed: 1 }, ' 99 %'],
    [{ succeeded: 39, failed: 1 }, '100 %'],
  ])('with %j is at %s', (more, percent) => {
    expect(screen(more)[0]).toMatch(new RegExp(`^[█░]{20} ${percent} {2}`));
  });

  it.each([
    [24, 5, 5, 0],
    [24, 22, 22, 0],
    [24, 23, 21, 2],
    [24, 500, 21, 479],
    [4, 3, 1, 2],
    [3, 1, 1, 0],
    [3, 2, 0, 2],
  ])('on %d rows, of %d items shows %d and counts the other %d', (rows, count, shown, hidden) => {
    const [, ...lines] = screen({ running: items(count) }, 200, rows);
    expect(lines.filter((line) => line.includes('waiting'))).toHaveLength(shown);
    expect(lines.slice(shown)).toEqual(hidden > 0 ? [`    and ${hidden} more`] : []);
  });

  it('says of an item that does not answer what the batch knows', () => {
    const running = [
      { item: 8, name: 'foxes-8' },
      { item: 9, name: 'foxes-9', isHeld: true },
    ];
    expect(screen({ running }).slice(1)).toEqual([' 8  under way', ' 9  needs a decision']);
  });

  it('leaves the last row to the cursor with any number of items', () => {
    for (let rows = 3; rows < 40; rows++) {
      for (const count of [0, 1, rows - 2, rows - 1, rows, 500]) {
        expect(screen({ running: items(count) }, 200, rows).length).toBeLessThan(rows);
      }
    }
  });

  it('has no line longer than the screen', () => {
    for (let columns = 0; columns < 150; columns++) {
      for (const line of screen({ succeeded: 6, failed: 4, running: items(30) }, columns)) {
        expect(line.length).toBeLessThanOrEqual(columns);
      }
    }
  });
});

const sha256 = 'ab'.repeat(32);
const stored: JobResult = {
  taskId: 'task_1',
  video: {
    uri: 'file:///videos/fox.mp4',
    bytes: 1_948_997,
    sha256,
    contentType: 'video/mp4',
    width: 1280,
    height: 720,
    durationSeconds: 5,
    codec: 'avc',
  },
  polls: 4,
  waitedMs: 60_000,
  warnings: [],
};

test('a stored video is described with its format, task, number of polls and location', () => {
  expect(storedLines(stored)).toEqual([
    `Stored 1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 ${sha256}, of task task_1 after 4 polls.`,
    'It is at file:///videos/fox.mp4.',
  ]);
  expect(storedLines({ ...stored, polls: 1 }, '/copies/fox.mp4')).toEqual([
    expect.stringMatching(/, of task task_1 after one poll\.$/),
    'It is at file:///videos/fox.mp4, copied to /copies/fox.mp4.',
  ]);
});

test('each warning has a line of its own', () => {
  const warnings = ['720p was asked for, it is 640x360', '5 s were asked for, it is 3 s long'];
  expect(storedLines({ ...stored, warnings }).slice(2)).toEqual([
    'Note: 720p was asked for, it is 640x360.',
    'Note: 5 s were asked for, it is 3 s long.',
  ]);
});
