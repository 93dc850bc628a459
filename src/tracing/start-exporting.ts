import type * as OpenTelemetry from '@opentelemetry/api';
import type * as NodeSdk from '@opentelemetry/sdk-node';
import { NO_SECRETS, redact } from '../contract/redact';
import { loadIfInstalled, openTracing } from './open-tracing';
import { PresetIds } from './preset-ids';

export interface Exporting {
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

export interface ExportOptions {
  /** What the process is called, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES says it. */
  serviceName: string | undefined;
  /** Told once why spans are not made or not sent. */
  onProblem(problem: string): void;
}

const LONGEST_PROBLEM_CHARS = 300;

/** A collector that does not answer must not hold up the end of a command. */
const CLOSE_WITHIN_MS = 5_000;

/**
 * Installs OpenTelemetry's SDK for a process of ours, as the OTEL_… variables say. In a process that has a tracer provider
 * already, for example by NODE_OPTIONS, spans go there, and nothing is installed.
 */
export function startExporting({ serviceName, onProblem }: ExportOptions): Exporting {
  const api = loadIfInstalled(() => require('@opentelemetry/api') as typeof OpenTelemetry);
  if (api === undefined || hasProvider(api)) {
    if (api === undefined) onProblem(NOT_INSTALLED);
    return { close: async () => undefined };
  }
  const sdk = loadIfInstalled(() => require('@opentelemetry/sdk-node') as typeof NodeSdk);
  if (sdk === undefined) {
    onProblem(NOT_INSTALLED);
    return { close: async () => undefined };
  }
  reportOnce(api, onProblem);
  const presetIds = new PresetIds();
  const node = new sdk.NodeSDK({
    ...(serviceName !== undefined && { serviceName }),
    idGenerator: presetIds,
    // Not that of the process: it has the arguments of the command, and one of them is the prompt.
    resourceDetectors: [sdk.resources.envDetector],
    // Metrics and logs have ways of their own.
    metricReaders: [],
    logRecordProcessors: [],
  });
  node.start();
  const tracing = openTracing();
  if (tracing) tracing.presetIds = presetIds;
  return {
    close: async () => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref());
      await Promise.race([node.shutdown().catch(() => undefined), late]);
    },
  };
}

const NOT_INSTALLED =
  'There are no traces, although an OTEL_… variable asks for them: run npm install @opentelemetry/api @opentelemetry/sdk-node, or set OTEL_SDK_DISABLED=true.';

/** Only one that records nothing stands for none. */
function hasProvider({ trace, ProxyTracerProvider }: typeof OpenTelemetry): boolean {
  const provider = trace.getTracerProvider();
  const real = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  return real.constructor.name !== 'NoopTracerProvider';
}

/** A collector that is down fails every few seconds. With OTEL_LOG_LEVEL, the SDK prints all of it instead. */
function reportOnce(
  { diag, DiagLogLevel }: typeof OpenTelemetry,
  onProblem: (problem: string) => void,
): void {
  let isReported = false;
  const report = (message: string) => {
    if (isReported) return;
    isReported = true;
    onProblem(`Traces are not exported: ${redact(message, NO_SECRETS, LONGEST_PROBLEM_CHARS)}`);
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: report, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
    DiagLogLevel.ERROR,
  );
}
