import { randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { type ReadableSpan, SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import {
  OpenTelemetryPlugin,
  type OpenTelemetryPluginOptions,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';

/** A process of a host whose spans the test reads, with Temporal's own package. */
export function startTracing() {
  const spans = spansOfWorkflows();
  const seen: ReadableSpan[] = [];
  const exporter: SpanExporter = {
    export: (ended, done) => {
      seen.push(...ended);
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
  const node = new NodeSDK({
    serviceName: 'host',
    idGenerator: spans.idGenerator,
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    metricReaders: [],
    logRecordProcessors: [],
  });
  node.start();
  const plugin = new OpenTelemetryPlugin({ resource: Object({}), spanProcessor: spans.processor });
  const client = new OpenTelemetryWorkflowClientInterceptor();
  // Of starts alone: a test that shows progress asks a job often.
  const starts = {
    start: client.start.bind(client),
    startWithDetails: client.startWithDetails.bind(client),
  };
  return {
    interceptors: { workflow: [starts] },
    plugin,
    spans: () => seen.map(plain),
    stop: () => node.shutdown(),
  };
}

/** What an exporter would send of a span. */
export type SeenSpan = ReturnType<typeof plain>;

function plain(span: ReadableSpan) {
  const { name, attributes, status, events, parentSpanContext, resource } = span;
  const { traceId, spanId } = span.spanContext();
  const { attributes: of } = resource;
  return { name, traceId, spanId, parentSpanId: parentSpanContext?.spanId, attributes, status, events, of };
}

/**
 * Makes the spans of workflows again: they come in the shape of OpenTelemetry 1, which the exporters of later versions cannot
 * read. They keep the ids that Temporal's package gave them in its sandbox, because their children name them as parents.
 */
function spansOfWorkflows() {
  let given: { traceId: string; spanId: string } | undefined;
  const processor: OpenTelemetryPluginOptions['spanProcessor'] = {
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
      const span = trace.getTracer('host').startSpan(name, options, parent || ROOT_CONTEXT);
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
