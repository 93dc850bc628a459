import type { SpanFacts } from './span-facts';

/** What code inside of a span may do. JobTracing is one; without tracing there is none. */
export interface SpanRecorder {
  /** Adds facts to the span that the caller runs in. */
  annotate(facts: SpanFacts): void;
  /** The span that the caller runs in, as `traceparent`. */
  traceparent(): string | undefined;
  /** Runs one poll of a task. It gets a span only if it is worth one. */
  poll<Status extends { state: string }>(taskId: string, poll: () => Promise<Status>): Promise<Status>;
}

let recorder: SpanRecorder | undefined;

export function recordSpansWith(given: SpanRecorder | undefined): void {
  recorder = given;
}

export function annotateSpan(facts: SpanFacts): void {
  recorder?.annotate(facts);
}

/** Headers for a receiver that may know of the trace. */
export function traceHeaders(): { traceparent?: string } {
  const traceparent = recorder?.traceparent();
  return traceparent === undefined ? {} : { traceparent };
}

export function tracePoll<Status extends { state: string }>(
  taskId: string,
  poll: () => Promise<Status>,
): Promise<Status> {
  return recorder ? recorder.poll(taskId, poll) : poll();
}
