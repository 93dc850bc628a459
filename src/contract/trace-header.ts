import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { parseTraceparent, type RemoteSpan, TRACE_HEADER } from './trace-context';

export function writeTraceHeader(traceparent: string | undefined): Headers {
  if (traceparent === undefined) return {};
  return { [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}

/** Undefined for anything that is not a trace: anybody who may start a workflow may send one. */
export function readTraceHeader(headers: Headers): RemoteSpan | undefined {
  const payload = headers[TRACE_HEADER];
  if (payload === undefined) return undefined;
  try {
    const { traceparent }: { traceparent?: unknown } = Object(defaultPayloadConverter.fromPayload(payload));
    return parseTraceparent(traceparent);
  } catch {
    return undefined;
  }
}
