import { run } from '../../src/cli/run';
import type { CliEnd, CliProcess } from './cli-process';
import { FakeTerminal } from './fake-terminal';

/** Runs `videogen` in this process, for commands that only use a running server: that saves the start of a process. */
export function startHere(args: string[], env: Record<string, string>): CliProcess {
  const terminal = new FakeTerminal(env);
  return {
    pid: process.pid,
    out: () => terminal.stdout,
    err: () => terminal.stderr,
    ended: run(args, terminal),
    kill: () => terminal.interrupt(),
  };
}

/** Runs a command to its end in this process. */
export async function runHere(
  args: string[],
  env: Record<string, string | undefined> = {},
  isOutTerminal = false,
): Promise<CliEnd> {
  const terminal = new FakeTerminal(env, false, isOutTerminal);
  const code = await run(args, terminal);
  return { code, out: terminal.stdout, err: terminal.stderr };
}
