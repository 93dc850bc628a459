import { exportTraces } from '../client/export-traces';
import type { Environment } from '../config/read-setting';
import { printLine, type Terminal } from './terminal';

/** Runs a command whose spans go where the OTEL_… variables say, if they say anything. */
export async function whileExporting(terminal: Terminal, command: () => Promise<number>): Promise<number> {
  const { env } = terminal;
  if (!wantsTraces(env)) return command();
  const isNamed =
    env.OTEL_SERVICE_NAME?.trim() || /\bservice\.name=/.test(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
  const stop = exportTraces({
    serviceName: isNamed ? undefined : 'videogen',
    onProblem: (problem) => printLine(terminal, problem),
  });
  try {
    return await command();
  } finally {
    await stop();
  }
}

/** A platform may set some of these variables for all that it runs. */
function wantsTraces(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim();
  if (exporter) return exporter !== 'none';
  return Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim());
}
