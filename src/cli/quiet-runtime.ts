import { DefaultLogger, type LogLevel, Runtime } from '@temporalio/worker';
import { logLine } from './log-line';

/** The worker that only submits has no workflows, as it should be: the SDK warns of it. */
const AS_IT_SHOULD_BE = 'No workflows registered';

let isQuiet = false;

/**
 * Leaves the screen and the signals to the command: the SDK would log every retry, and end its workers at a Ctrl-C. The
 * first level stays, as the SDK has one runtime a process.
 */
export function quietRuntime(level: LogLevel = 'ERROR'): void {
  if (isQuiet) return;
  isQuiet = true;
  const logger = new DefaultLogger(level, (entry) => {
    if (!entry.message.startsWith(AS_IT_SHOULD_BE)) process.stderr.write(logLine(entry));
  });
  Runtime.install({
    logger,
    shutdownSignals: [],
    // The SDK's native part would print to standard output, which is for results alone.
    telemetryOptions: { logging: { forward: { level } } },
  });
}
