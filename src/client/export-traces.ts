import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as OpenTelemetry from '@opentelemetry/api';
import type * as NodeSdk from '@opentelemetry/sdk-node';
import type { ClientOptions } from '@temporalio/client';
import type * as Interceptors from '@temporalio/interceptors-opentelemetry';
import type { WorkerPlugin } from '@temporalio/worker';
import { errorCode } from '../contract/error-code';
import { NO_SECRETS, redact } from '../contract/redact';

type Api = typeof OpenTelemetry;

export interface ExportOptions {
  /** What the process is called, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES says it. */
  serviceName: string | undefined;
  /** Told why there are no spans. */
  onProblem(problem: string): void;
}

/** Sends what has not been sent. */
export type StopExporting = () => Promise<void>;

/** Temporal's tracing, in a process whose spans we export. */
let temporal: { client: Pick<ClientOptions, 'interceptors'>; plugin: WorkerPlugin } | undefined;

/** A collector that does not answer must not hold up the end of a command. */
const STOP_WITHIN_MS = 5_000;

const LONGEST_PROBLEM_CHARS = 300;

const NOT_INSTALLED =
  'There are no traces, although an OTEL_… variable asks for them: run npm install @opentelemetry/api @opentelemetry/sdk-node @temporalio/interceptors-opentelemetry, or set OTEL_SDK_DISABLED=true.';

/**
 * Exports the spans of a command as the OTEL_… variables say. In a process that has a tracer provider already, for example
 * by NODE_OPTIONS, our own spans go there, and nothing is installed. It never throws.
 */
export function exportTraces({ serviceName, onProblem }: ExportOptions): StopExporting {
  try {
    const api: Api = require('@opentelemetry/api');
    if (hasProvider(api)) return async () => undefined;
    const sdk: typeof NodeSdk = require('@opentelemetry/sdk-node');
    const interceptors: typeof Interceptors = require('@temporalio/interceptors-opentelemetry');
    // By default not those of the process: they tell the arguments of the command, and one of them is the prompt.
    Object.assign(process.env, { OTEL_NODE_RESOURCE_DETECTORS: 'env', ...process.env });
    const spans = spansOfWorkflows(api);
    const node = new sdk.NodeSDK({
      ...(serviceName !== undefined && { serviceName }),
      idGenerator: spans.idGenerator,
      // Metrics and logs have ways of their own.
      metricReaders: [],
      logRecordProcessors: [],
    });
    node.start();
    // Nobody reads the resource: the spans that have it are made again.
    const resource = Object({});
    const plugin = new interceptors.OpenTelemetryPlugin({ resource, spanProcessor: spans.processor });
    const client = new interceptors.OpenTelemetryWorkflowClientInterceptor();
    // Of starts alone: a command that shows progress asks a job every second.
    const starts = {
      start: client.start.bind(client),
      startWithDetails: client.startWithDetails.bind(client),
    };
    temporal = { client: { interceptors: { workflow: [starts] } }, plugin };
    return async () => {
      temporal = undefined;
      const late = sleep(STOP_WITHIN_MS, undefined, { ref: false });
      await Promise.race([node.shutdown().catch(() => undefined), late]);
    };
  } catch (error) {
    const reason = redact(String(error), NO_SECRETS, LONGEST_PROBLEM_CHARS);
    const isMissing = errorCode(error) === 'MODULE_NOT_FOUND';
    onProblem(isMissing ? NOT_INSTALLED : `Traces are not exported: ${reason}`);
    return async () => undefined;
  }
}

/** For a worker: Temporal's own plugin. */
export function tracingPlugins(): WorkerPlugin[] {
  return temporal ? [temporal.plugin] : [];
}

/** For a client: Temporal's own interceptor. */
export function tracedClient(): Pick<ClientOptions, 'interceptors'> {
  return temporal?.client ?? {};
}

/**
 * Makes the spans of workflows again with the SDK of the process: they come in the shape of OpenTelemetry 1, which the
 * exporters of later versions cannot read, and with the job's memo and its last result as attributes. They keep the ids that
 * Temporal's package gave them in its sandbox, because their children name them as parents.
 */
function spansOfWorkflows({ trace, ROOT_CONTEXT }: Api) {
  let given: { traceId: string; spanId: string } | undefined;
  const processor: Interceptors.OpenTelemetryPluginOptions['spanProcessor'] = {
    onStart: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
    onEnd: ({ name, kind, startTime, endTime, status, attributes, parentSpanId: spanId, spanContext }) => {
      const own = spanContext();
      // A query about the progress of a job would be a trace of its own.
      if (spanId === undefined && !name.startsWith('RunWorkflow:')) return;
      const parent = spanId && trace.setSpanContext(ROOT_CONTEXT, { ...own, spanId, isRemote: true });
      const { workflowId: temporalWorkflowId, runId: run_id } = attributes;
      const options = { kind, startTime, attributes: { temporalWorkflowId, run_id } };
      given = own;
      const span = trace.getTracer('temporal-videogen').startSpan(name, options, parent || ROOT_CONTEXT);
      given = undefined;
      span.setStatus(status);
      span.end(endTime);
    },
  };
  const idGenerator = {
    generateTraceId: () => given?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: () => given?.spanId ?? randomBytes(8).toString('hex'),
  };
  return { processor, idGenerator };
}

/** Only one that records nothing stands for none. */
function hasProvider({ trace, ProxyTracerProvider }: Api): boolean {
  const provider = trace.getTracerProvider();
  const real = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  return real.constructor.name !== 'NoopTracerProvider';
}
