import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../src/cli/stack-note';
import { runTool } from '../../src/temporal-server/child-process';

describe('a tool that is a wrapper', () => {
  let folder: string;
  let wrapper: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'run-tool-'));
    wrapper = join(folder, 'pip');
    // The program that it starts holds the wrapper's output open.
    await writeFile(wrapper, '#!/bin/sh\nsleep 600 &\necho $! > started\nwait\n');
    await chmod(wrapper, 0o755);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function startedPid(): Promise<number> {
    for (;;) {
      const pid = Number.parseInt(await readFile(join(folder, 'started'), 'utf8').catch(() => ''), 10);
      if (pid > 0) return pid;
      await sleep(20);
    }
  }

  async function untilEnded(pid: number): Promise<void> {
    while (isAlive(pid)) await sleep(20);
  }

  it('ends after its time, together with what it started', async () => {
    const run = runTool(wrapper, [], { cwd: folder, timeoutMs: 2_000 });
    await expect(run).rejects.toThrow('was stopped because it took more than 2 s');
    await untilEnded(await startedPid());
  });

  it('ends when it is stopped, together with what it started', async () => {
    const stop = new AbortController();
    const run = runTool(wrapper, [], { cwd: folder, timeoutMs: 600_000, signal: stop.signal });
    const pid = await startedPid();
    stop.abort('Ctrl-C was pressed');
    await expect(run).rejects.toThrow('was stopped because Ctrl-C was pressed');
    await untilEnded(pid);
  });
});
