import { DefaultLogger, type LogLevel, type MetricsExporterConfig, Runtime } from '@temporalio/worker';
import { logLine } from './log-line';

/** The SDK warns about workers without workflows, but a worker for submits has none. */
const EXPECTED_WARNING = 'No workflows registered';

let isInstalled = false;

/**
 * Lets the command control the screen and the signals: the SDK would log every retry, and stop its workers on Ctrl-C. Only
 * the first call has an effect, because the SDK has one runtime per process.
 */
export function quietRuntime(level: LogLevel = 'ERROR', metrics?: MetricsExporterConfig): void {
  if (isInstalled) return;
  isInstalled = true;
  const logger = new DefaultLogger(level, (entry) => {
    if (!entry.message.startsWith(EXPECTED_WARNING)) process.stderr.write(logLine(entry));
  });
  Runtime.install({
    logger,
    shutdownSignals: [],
    // The SDK's native part would print to standard output, which is only for results.
    telemetryOptions: { logging: { forward: { level } }, metrics },
  });
}
