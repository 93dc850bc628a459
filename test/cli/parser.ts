import type { Command } from 'commander';
import { type CommandCall, describeProgram } from '../../src/cli/program';
import { FakeTerminal } from './fake-terminal';

/** The parser of the command line, which only reports what would be called. */
export function parser(called: (call: CommandCall) => void = () => undefined): Command {
  return describeProgram(new FakeTerminal(), async (call) => called(call));
}
