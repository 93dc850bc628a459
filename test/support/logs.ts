import { type MetricsExporterConfig, Runtime } from '@temporalio/worker';

export interface LogLine {
  level: string;
  message: string;
  meta: unknown;
}

/** Collects every log line of workers, activities and workflows in this test file. Call it first. */
export function captureLogs(metrics?: MetricsExporterConfig): LogLine[] {
  const lines: LogLine[] = [];
  const capture = (level: string) => (message: string, meta?: unknown) => {
    lines.push({ level, message, meta });
  };
  Runtime.install({
    logger: {
      log: (level, message, meta) => capture(level)(message, meta),
      trace: capture('TRACE'),
      debug: capture('DEBUG'),
      info: capture('INFO'),
      warn: capture('WARN'),
      error: capture('ERROR'),
    },
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } }, metrics },
  });
  return lines;
}
