import { CommanderError } from 'commander';
import { cleanText, printableJson } from '../contract/clean-text';
import { type CommandCall, describeProgram, LONGEST_USAGE_CHARS } from './program';
import { printLine, type Terminal } from './terminal';

/** The same code as a refused request: `EXIT.usage`, which takes a moment to load. */
const BAD_USAGE = 2;

/** Runs one command and returns its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const program = describeProgram(terminal, async (call) => {
    code = await runCall(call, terminal);
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    const usage = { type: 'UsageError', message: cleanText(error.message, LONGEST_USAGE_CHARS) };
    if (args.includes('--json')) terminal.out(printableJson({ error: usage }));
    return BAD_USAGE;
  }
}

async function runCall({ given, load, isTraced }: CommandCall, terminal: Terminal): Promise<number> {
  const command = async () => load()(...given, terminal);
  try {
    return await (isTraced ? whileExporting(terminal, command) : command());
  } catch (error) {
    const { reportError }: typeof import('./exit-codes') = require('./exit-codes');
    const exitCode = reportError(error, Object(given.at(-1)), terminal);
    // These are bugs. The message of any other error says enough.
    if (error instanceof TypeError || error instanceof ReferenceError) terminal.err(`${error.stack}\n`);
    return exitCode;
  }
}

/** Runs a command whose spans go where the OTEL_… variables say. A platform may set some of them for all that it runs. */
export async function whileExporting(terminal: Terminal, command: () => Promise<number>): Promise<number> {
  const setting = (name: string) => terminal.env[`OTEL_${name}`]?.trim() ?? '';
  const endpoint = setting('EXPORTER_OTLP_ENDPOINT') || setting('EXPORTER_OTLP_TRACES_ENDPOINT');
  const exporter = setting('TRACES_EXPORTER') || endpoint || 'none';
  if (exporter === 'none' || setting('SDK_DISABLED').toLowerCase() === 'true') return command();
  // Without such variables nothing of OpenTelemetry is loaded.
  const { exportTraces }: typeof import('../client/export-traces') = require('../client/export-traces');
  const isNamed = setting('SERVICE_NAME') || /\bservice\.name=/.test(setting('RESOURCE_ATTRIBUTES'));
  const stop = exportTraces({
    serviceName: isNamed ? undefined : 'videogen',
    onProblem: (problem) => printLine(terminal, problem),
  });
  return await command().finally(stop);
}
