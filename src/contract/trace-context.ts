import { sha256 } from './sha256';

/** The Temporal header of the SDK's own OpenTelemetry interceptors, so that traces of callers with those are joined. */
export const TRACE_HEADER = '_tracer-data';

/** What travels in that header, as W3C Trace Context writes it. */
export interface TraceCarrier {
  traceparent: string;
}

/** A span that another process made. */
export interface RemoteSpan {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Undefined for anything but a `traceparent` of version 00: anybody may send one. */
export function parseTraceparent(text: unknown): RemoteSpan | undefined {
  const match = typeof text === 'string' ? TRACEPARENT.exec(text) : null;
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

/** The trace of a workflow whose caller has none: the same in every replay, and for all that the workflow starts. */
export function ownTrace(namespace: string, workflowId: string, firstRunId: string): RemoteSpan {
  const digest = sha256(JSON.stringify([namespace, workflowId, firstRunId]));
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48), traceFlags: 1 };
}

/** How a run of a workflow ended. */
export type RunOutcome = 'succeeded' | 'failed' | 'cancelled' | 'continued-as-new';

/** What the sandbox tells about a run that has ended. */
export interface EndedRun {
  traceparent: string;
  /** The workflow's caller has no trace: this run is the root of its own. */
  isRoot: boolean;
  startedAtMs: number;
  endedAtMs: number;
  outcome: RunOutcome;
  failureType?: string;
  /** How many activities that poll it has started. */
  polls: number;
}

/** The sink through which the sandbox tells it. */
export const TRACE_SINK = 'videogenTraces';
