import { readDefaultServiceName, wantsTraces } from '../config/trace-config';
import { startExporting } from '../tracing/start-exporting';
import { printLine, type Terminal } from './terminal';

/** Runs a command whose spans go where the OTEL_… variables say, if they say anything. */
export async function whileExporting(terminal: Terminal, command: () => Promise<number>): Promise<number> {
  const { env } = terminal;
  if (!wantsTraces(env)) return command();
  const exporting = startExporting({
    serviceName: readDefaultServiceName(env),
    onProblem: (problem) => printLine(terminal, problem),
  });
  try {
    return await command();
  } finally {
    await exporting.close();
  }
}
