import { CommanderError } from 'commander';
import { cleanText, printableJson } from '../contract/clean-text';
import { type CommandCall, describeProgram, LONGEST_USAGE_CHARS } from './program';
import { EXIT, type Terminal } from './terminal';

/** Runs one command and returns its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.ok;
  const program = describeProgram(terminal, async (call) => {
    code = await runCall(call, terminal);
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    const usage = { type: 'UsageError', message: cleanText(error.message, LONGEST_USAGE_CHARS) };
    if (args.includes('--json')) terminal.out(printableJson({ error: usage }));
    return EXIT.usage;
  }
}

async function runCall({ given, load }: CommandCall, terminal: Terminal): Promise<number> {
  try {
    return await load()(...given, terminal);
  } catch (error) {
    const { reportError }: typeof import('./exit-codes') = require('./exit-codes');
    const exitCode = reportError(error, Object(given.at(-1)), terminal);
    // These are bugs. The message of any other error says enough.
    if (error instanceof TypeError || error instanceof ReferenceError) terminal.err(`${error.stack}\n`);
    return exitCode;
  }
}
