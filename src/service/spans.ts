import type * as OpenTelemetry from '@opentelemetry/api';

type Api = typeof OpenTelemetry;
type Attributes = OpenTelemetry.Attributes;

/** A span that is open until `end`. */
export interface OpenSpan {
  /** Work that belongs to it. */
  within<T>(work: () => T): T;
  end(attributes: Attributes, isError?: boolean): void;
}

export interface NewSpan {
  name: string;
  kind: 'SERVER' | 'CLIENT';
  /** No address, prompt or message: readers of traces need not be allowed to read those. */
  attributes: Attributes;
  /** The span of another process that it belongs to; by default it belongs to the active one. */
  traceparent?: string | undefined;
}

/**
 * Opens a span at the tracer provider that the process has; without one it records nothing. Undefined
 * without OpenTelemetry.
 */
export function openSpan({ name, kind, attributes, traceparent }: NewSpan): OpenSpan | undefined {
  return quietly(() => {
    const api = openTelemetry();
    if (api === undefined) return undefined;
    const { trace, context, propagation } = api;
    // A caller's baggage and trace state stay out: Temporal would keep them in the job's history.
    const around =
      traceparent === undefined ? context.active() : propagation.extract(context.active(), { traceparent });
    const span = trace
      .getTracer('temporal-videogen')
      .startSpan(name, { kind: api.SpanKind[kind], attributes }, around);
    return {
      within: (work) => context.with(trace.setSpan(around, span), work),
      end: (last, isError = false) =>
        quietly(() => {
          span.setAttributes(last);
          if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR });
          span.end();
        }),
    };
  });
}

/** Sends an HTTP request in a span of its own. */
export async function traceCall<Answer extends { statusCode: number }>(
  method: string,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const span = openSpan({ name: method, kind: 'CLIENT', attributes: { 'http.request.method': method } });
  try {
    const answer = await send();
    span?.end({ 'http.response.status_code': answer.statusCode }, answer.statusCode >= 400);
    return answer;
  } catch (error) {
    span?.end({ 'error.type': error instanceof Error ? error.name : typeof error }, true);
    throw error;
  }
}

/** Headers for a receiver that may know of the trace. */
export function traceHeaders(): { traceparent?: string } {
  const carrier: { traceparent?: string } = {};
  quietly(() => {
    const api = openTelemetry();
    api?.propagation.inject(api.context.active(), carrier);
  });
  return carrier.traceparent === undefined ? {} : { traceparent: carrier.traceparent };
}

let loaded: { api: Api | undefined } | undefined;

/** It is an optional peer, loaded for the first span. */
function openTelemetry(): Api | undefined {
  loaded ??= { api: quietly((): Api => require('@opentelemetry/api')) };
  return loaded.api;
}

/** Tracing never ends what it traces: an answer that is lost with its span may name a paid task. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
