import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportError } from '../../src/cli/exit-codes';
import { holdNotes } from '../../src/cli/job-lines';
import { printLine } from '../../src/cli/terminal';
import { hasControls } from '../../src/contract/clean-text';
import type { JobProgress } from '../../src/contract/job';
import { VideoFailure } from '../../src/contract/video-failure';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';
import { FakeTerminal } from './fake-terminal';
import { parser } from './parser';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-hostile-'));
});
afterAll(async () => {
  const made = await readdir(folder);
  await rm(folder, { recursive: true });
  // No part of a name ran as a command.
  expect(made).toEqual([]);
});

/** The arguments that a shell parses from each printed command. */
function typed(commands: string[], shell = 'sh'): string[][] {
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

/** Whole lines, as they are pasted: with the comment that says when. */
const commandsIn = (text: string) => [...text.matchAll(/videogen .*?(?=\n)/gs)].map(([command]) => command);

const progress = (more: Partial<JobProgress>): JobProgress => ({
  phase: 'waiting',
  polls: 1,
  startedAt: new Date().toISOString(),
  deadlineAt: new Date().toISOString(),
  ...more,
});
const row = { runId: '', kind: 'job', state: 'running', startedAt: '', taskQueue: '' } as const;
const hold = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z', message: 'lost' };
/** Names and task ids have no control characters. */
const hostileName = hostileText.filter((text) => !hasControls(text));

test('an error shows no control character of its id or message', () => {
  fc.assert(
    fc.property(hostileText, hostileText, fc.boolean(), (taskId, message, json) => {
      const errors = [
        new VideoFailure('StorageFailed', { taskId, message, code: message }),
        new Error(message),
      ];
      const [failure, other] = errors.map((error) => {
        const terminal = new FakeTerminal();
        reportError(error, { json }, terminal);
        expect(terminal.stderr + terminal.stdout).not.toMatch(STEERING);
        return json ? JSON.parse(terminal.stdout).error : { taskId, message };
      });
      expect([failure.taskId, other.message]).toEqual([taskId, message]);
    }),
  );
});

test.each(['sh', 'bash'])(
  'the command that adopts a task names that task when typed into %s',
  async (shell) => {
    const taskIds = fc.sample(hostileName, { numRuns: 300, seed: 10 });
    const lines = taskIds.map((taskId) => {
      const terminal = new FakeTerminal();
      reportError(new VideoFailure('DeadlineExceeded', { taskId }), {}, terminal);
      return terminal.stderr.slice(terminal.stderr.lastIndexOf('videogen generate')).trimEnd();
    });
    const calls = await Promise.all(typed(lines, shell).map(parsed));
    expect(calls.map(([, , options]) => Object(options).adopt)).toEqual(taskIds);
  },
);

test('a job that waits for a decision shows commands for its exact name, and no control character', async () => {
  const held = progress({ phase: 'needs-decision', hold });
  const ids = fc.sample(hostileName, { numRuns: 100, seed: 10 });
  const texts = ids.map((workflowId, index) => {
    const running = [{ item: 17, name: workflowId, isHeld: true }];
    const batch = { items: 20, succeeded: 0, failed: 0, running };
    const notes = holdNotes({ ...row, workflowId, progress: index % 2 === 0 ? held : batch });
    const terminal = new FakeTerminal();
    for (const note of notes.values()) printLine(terminal, note);
    return terminal.stderr;
  });
  expect(texts.filter((text) => STEERING.test(text))).toEqual([]);
  const commands = texts.flatMap(commandsIn);
  expect(commands).toHaveLength(3 * ids.length);
  const calls = await Promise.all(typed(commands).map(parsed));
  expect(calls.map(([name, id]) => [name, id])).toEqual(
    ids.flatMap((id) => [0, 1, 2].map(() => ['decide', id])),
  );
  expect(calls.slice(3, 6).map(([, , options]) => options)).toEqual([
    { adopt: 'TASK_ID' },
    { resubmit: true },
    { abandon: true },
  ]);
});
