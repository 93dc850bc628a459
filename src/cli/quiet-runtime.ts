import { DefaultLogger, type LogLevel, Runtime } from '@temporalio/worker';

/** Leaves the screen and the signals to the command: the SDK would log every retry, and end its workers at a Ctrl-C. */
export function quietRuntime(level: LogLevel = 'ERROR'): void {
  Runtime.install({ logger: new DefaultLogger(level), shutdownSignals: [] });
}
