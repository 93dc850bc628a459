import type { Command } from 'commander';
import { describeProgram } from '../../src/cli/run';
import { FakeTerminal } from './fake-terminal';

type Actions = Parameters<typeof describeProgram>[1];

const ACTIONS = [
  'generate',
  'batch',
  'decide',
  'dev',
  'worker',
  'emulator',
  'gateway',
  'gatewayKey',
  'encryptionKey',
  'doctor',
  'explain',
  'searchAttributes',
  'list',
  'status',
  'watch',
  'cancel',
  'poll',
  'retry',
  'download',
  'forget',
  'open',
  'caps',
  'spend',
  'completion',
] as const satisfies (keyof Actions)[];

/** The parser of the command line, which only reports what would be called. */
export function parser(
  called: (action: keyof Actions, given: unknown[]) => void = () => undefined,
  terminal = new FakeTerminal(),
): Command {
  const actions = ACTIONS.map((action) => [action, async (...given: unknown[]) => called(action, given)]);
  return describeProgram(terminal, Object.fromEntries(actions));
}
