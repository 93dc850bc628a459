import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportError } from '../../src/cli/exit-codes';
import { findJob } from '../../src/cli/find-job';
import { followJob } from '../../src/cli/follow-jobs';
import {
  holdNotes,
  type JobRow,
  jobTable,
  liveLine,
  type Progress,
  progressLine,
} from '../../src/cli/job-lines';
import type { JobsSession } from '../../src/cli/open-jobs';
import { reportLines, type StatusReport } from '../../src/cli/status';
import { printLine } from '../../src/cli/terminal';
import type { BatchProgress, ItemProgress } from '../../src/contract/batch';
import { hasControls } from '../../src/contract/clean-text';
import type { JobProgress } from '../../src/contract/job';
import { VideoFailure } from '../../src/contract/video-failure';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';
import { FakeTerminal } from './fake-terminal';
import { parser } from './parser';

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
const START = Date.parse(startedAt);
const at45s = START + 45_000;
const usd = (amount: number) => ({ amount, currency: 'USD' });

const waiting = (percent = 10): JobProgress => ({
  phase: 'waiting',
  taskId: 'task_1',
  task: { state: 'running', word: 'rendering', percent },
  polls: 1,
  startedAt,
  deadlineAt: startedAt,
});
const withoutTask = { ...waiting(), taskId: undefined, task: undefined };
const held = (since = startedAt): JobProgress => ({
  ...withoutTask,
  phase: 'needs-decision',
  hold: { since, until, message: 'It was lost.' },
});
const problem: JobProgress['problem'] = { type: 'RateLimited', message: 'HTTP 429 slow down', count: 2 };
const troubled: JobProgress = { ...waiting(27.4), problem, cost: { estimated: usd(0.5) } };

const item = (number: number): ItemProgress => ({ item: number, name: `foxes-${number}` });
const batchOf = (succeeded: number, ...running: ItemProgress[]): BatchProgress => ({
  items: 40,
  succeeded,
  failed: 0,
  running,
});
const failing: BatchProgress = { ...batchOf(12, item(8), item(9)), failed: 1, stopping: 'item 3 failed' };

const row = (more: Partial<JobRow>): JobRow => ({
  workflowId: 'fox-1',
  runId: 'run',
  kind: 'job',
  state: 'running',
  phase: 'waiting',
  startedAt,
  taskQueue: 'films',
  ...more,
});
const live = (progress: JobRow['progress']) => liveLine(row({ progress }), at45s);

const NOW = Date.parse('2026-11-16T12:00:00Z');
const report = (more: Partial<StatusReport>): StatusReport => ({
  ...row({ state: 'failed', phase: 'failed', failure: 'DeadlineExceeded', taskId: 'task_1' }),
  startedAt: '2026-11-16T11:00:00.000Z',
  endedAt: '2026-11-16T11:10:00.000Z',
  commands: ['videogen retry fox-1'],
  ...more,
});

describe('a line', () => {
  it('for a pipe has the most important parts first, and only those that do not change every second', () => {
    expect(progressLine(troubled)).toBe(
      'waiting 27 %, problem, 2 in a row: HTTP 429 slow down, cost 0.50 USD estimated, the service says rendering, task task_1',
    );
    expect(progressLine({ ...batchOf(0), items: undefined })).toBe('0 of ? stored');
    expect(progressLine(failing)).toBe(
      '12 of 40 stored, 1 failed, 2 under way, no new items start: item 3 failed',
    );
  });

  it('is one line without control characters, whatever is in it', () => {
    const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(any, any, (name, word) => {
        const hostile = { workflowId: name, taskId: word, taskQueue: name, service: word };
        const lines = [
          live({ ...waiting(), taskId: word, task: { state: 'running', word } }),
          live({ ...failing, stopping: word }),
          liveLine(row({ phase: undefined, workflowId: name }), at45s),
          ...jobTable([row(hostile), row({ workflowId: word, service: name })], at45s),
          ...reportLines(report(hostile), at45s),
        ];
        for (const line of lines) {
          expect(line).not.toContain('\n');
          expect(line).not.toMatch(STEERING);
        }
      }),
      { numRuns: 20 },
    );
  });
});

test('the status of a job shows what happened, until when to decide, and the command', () => {
  const error = { type: 'DeadlineExceeded', message: 'It took too long.', taskId: 'task_1', advice: 'Wait.' };
  const failed = ['problem   It took too long.', 'advice    Wait.', '  videogen retry fox-1'];
  expect(reportLines(report({ error }), NOW)).toEqual(expect.arrayContaining(failed));
  const retrying = { activity: 'submitVideo', attempt: 3, message: 'HTTP 429' };
  const running = report({ state: 'running', failure: undefined, retrying, progress: held() });
  expect(reportLines(running, START)).toEqual(
    expect.arrayContaining([
      'retry     attempt 3 of submitVideo: HTTP 429',
      'problem   It was lost.',
      `decide by ${until}, in 24 h`,
    ]),
  );
});

describe('watch', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: START });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** What is answered in turn: a progress, no worker, no Temporal, the end. */
  type Answer = Progress | 'no worker' | 'no Temporal' | 'ended';
  /** Follows a job that answers in turn and repeats the last one; Ctrl-C comes after a minute. */
  async function follow(answers: Answer[], asJson?: boolean) {
    const terminal = new FakeTerminal();
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
      describeMissingWorker: async () => undefined,
    } as unknown as JobsSession;
    const following = followJob(session, 'fox', terminal, asJson);
    following.catch(() => undefined);
    await jest.advanceTimersByTimeAsync(60_000);
    interrupted.abort();
    await jest.advanceTimersByTimeAsync(1_000);
    return { row: await following, out: terminal.stdout, err: terminal.stderr };
  }

  const count = (text: string, part: string) => text.split(part).length - 1;

  it('prints each change into a pipe in one line, until the job has ended', async () => {
    const answers: Answer[] = ['no worker', waiting(10), waiting(10), 'no worker', waiting(20), 'ended'];
    const { row: last, out, err } = await follow(answers);
    expect([out, last?.state]).toEqual(['', 'succeeded']);
    expect(err).toBe(
      'waiting 10 %, the service says rendering, task task_1\nwaiting 20 %, the service says rendering, task task_1\n',
    );
    const batch = await follow([batchOf(2, item(3)), batchOf(3), batchOf(3, item(4)), 'ended']);
    expect(batch.err).toBe('2 of 40 stored, 1 under way\n3 of 40 stored\n3 of 40 stored, 1 under way\n');
  });

  it('prints JSON lines to standard output', async () => {
    const { out, err } = await follow([waiting(10), 'ended'], true);
    const rows = out.trimEnd().split('\n');
    expect(rows.map((line) => JSON.parse(line))).toMatchObject([
      { workflowId: 'fox', state: 'running', progress: { phase: 'waiting' } },
      { workflowId: 'fox', state: 'succeeded' },
    ]);
    expect(err).toBe('');
  });

  it('shows a hold once, with its commands, and again if it is another', async () => {
    const { err } = await follow([held(), held(), waiting(), held('2026-01-01T05:00:00.000Z')]);
    expect(count(err, 'It was lost.\n')).toBe(2);
    expect(count(err, `decide before ${until}; after that the job fails:\n`)).toBe(2);
    for (const option of ['--adopt TASK_ID', '--resubmit', '--abandon'])
      expect(count(err, `  videogen decide fox ${option}   # `)).toBe(2);
    const heldItem = batchOf(0, { ...item(9), isHeld: true });
    const batch = await follow([heldItem, 'no worker', heldItem, batchOf(0, item(9)), heldItem]);
    expect(count(batch.err, 'Item 9 lost its submit: a paid task may exist.\n')).toBe(2);
    expect(count(batch.err, '  videogen decide foxes-9 --abandon')).toBe(2);
  });

  it('tries again while Temporal is away, but the first answer must come', async () => {
    const { err, row: last } = await follow([waiting(), 'no Temporal', 'no Temporal', waiting(), 'ended']);
    expect(err.match(/Temporal (has not answered since .* \(it is away\)|answers again)/g)).toHaveLength(2);
    expect(last?.state).toBe('succeeded');
    await expect(follow(['no Temporal'])).rejects.toThrow('it is away');
  });

  it('reads a job every two seconds after ten, because a query may be billed, and ends on Ctrl-C', async () => {
    jest.mocked(findJob).mockClear();
    expect((await follow([waiting()])).row).toBeUndefined();
    expect(jest.mocked(findJob).mock.calls.length).toBeLessThan(10 * 2 + 50 / 2 + 3);
  });
});

describe('with hostile names', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-hostile-'));
  });
  afterAll(() => {
    const made = readdirSync(folder);
    rmSync(folder, { recursive: true });
    // No part of a name ran as a command.
    expect(made).toEqual([]);
  });

  /** The arguments that a shell parses from each printed command. */
  function typed(commands: string[], shell: 'sh' | 'bash'): string[][] {
    const script = commands.map(
      (command) => `printf '%s\\0' ${command.replace(/^videogen /, '')}\nprintf '\\0'`,
    );
    const out = execFileSync(shell, ['-c', script.join('\n')], { encoding: 'utf8', cwd: folder });
    return out
      .split('\0\0')
      .slice(0, -1)
      .map((one) => one.split('\0'));
  }

  /** The command that the arguments call, with its parameters. */
  async function parsed(args: string[]): Promise<unknown[]> {
    const calls: unknown[] = [];
    const program = parser(({ name, given }) => calls.push(name, ...given));
    await program.parseAsync(args, { from: 'user' });
    return calls;
  }

  /** Names and task ids have no control characters. */
  const hostileName = hostileText.filter((text) => !hasControls(text));

  it('the command that adopts a task names it when it is typed into a shell', async () => {
    const taskIds = fc.sample(hostileName, { numRuns: 40, seed: 10 });
    const lines = taskIds.map((taskId) => {
      const terminal = new FakeTerminal();
      reportError(new VideoFailure('DeadlineExceeded', { taskId }), {}, terminal);
      return terminal.stderr.slice(terminal.stderr.lastIndexOf('videogen generate')).trimEnd();
    });
    const calls = await Promise.all(typed(lines, 'bash').map(parsed));
    expect(calls.map(([, , options]) => Object(options).adopt)).toEqual(taskIds);
  });

  it('a job that waits for a decision shows commands for its exact name, and no control character', async () => {
    const ids = fc.sample(hostileName, { numRuns: 40, seed: 10 });
    const texts = ids.map((workflowId, index) => {
      const batch = batchOf(0, { item: 17, name: workflowId, isHeld: true });
      const notes = holdNotes(row({ workflowId, progress: index % 2 === 0 ? held() : batch }));
      const terminal = new FakeTerminal();
      for (const note of notes.values()) printLine(terminal, note);
      return terminal.stderr;
    });
    expect(texts.filter((text) => STEERING.test(text))).toEqual([]);
    // Whole lines, as they are pasted: with the comment that says when.
    const commands = texts.flatMap((text) => text.match(/videogen .*?(?=\n)/gs) ?? []);
    expect(commands).toHaveLength(3 * ids.length);
    const calls = await Promise.all(typed(commands, 'sh').map(parsed));
    expect(calls.map(([name, id]) => [name, id])).toEqual(
      ids.flatMap((id) => [0, 1, 2].map(() => ['decide', id])),
    );
    expect(calls.slice(3, 6).map(([, , options]) => options)).toEqual([
      { adopt: 'TASK_ID' },
      { resubmit: true },
      { abandon: true },
    ]);
  });
});
