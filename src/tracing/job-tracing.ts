import type * as OpenTelemetry from '@opentelemetry/api';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { FAILURES, fromTemporalType } from '../contract/failure-table';
import {
  type EndedRun,
  formatTraceparent,
  parseTraceparent,
  type RemoteSpan,
} from '../contract/trace-context';
import type { SpanRecorder } from './active-span';
import { PollSpans } from './poll-spans';
import type { PresetIds } from './preset-ids';
import { attributesOf, type SpanFacts } from './span-facts';

export type SpanKind = 'server' | 'client' | 'internal';

export interface NewSpan {
  name: string;
  kind: SpanKind;
  /** The span of another process that this one belongs to; by default that of the caller. */
  parent?: RemoteSpan;
  facts: SpanFacts;
}

/** A span that is open until `end`. Code in `within` is inside of it. */
export interface OpenSpan {
  traceparent: string | undefined;
  within<T>(work: () => T): T;
  end(facts: SpanFacts, problem?: string): void;
}

/**
 * Makes the spans of jobs through the OpenTelemetry of the process, whoever installed it. It writes nothing into them but
 * `SpanFacts`.
 */
export class JobTracing implements SpanRecorder {
  private readonly tracer: OpenTelemetry.Tracer;
  private readonly factsKey: symbol;
  private readonly polls = new PollSpans();
  /** Set if the tracer provider is ours: only then can a span have an id that was chosen before. */
  presetIds: PresetIds | undefined;

  constructor(private readonly otel: typeof OpenTelemetry) {
    this.tracer = otel.trace.getTracer('temporal-videogen');
    this.factsKey = otel.createContextKey('videogen facts');
  }

  open({ name, kind, parent, facts }: NewSpan): OpenSpan {
    const { otel } = this;
    const around = this.contextOf(parent);
    const span = this.tracer.startSpan(
      name,
      { kind: this.kindOf(kind), attributes: attributesOf(facts) },
      around,
    );
    const found: SpanFacts = {};
    const inside = otel.trace.setSpan(around, span).setValue(this.factsKey, found);
    return {
      traceparent: this.traceparentOf(span),
      within: (work) => otel.context.with(inside, work),
      end: (last, problem) => {
        span.setAttributes(attributesOf({ ...found, ...last }));
        if (problem !== undefined) span.setStatus({ code: otel.SpanStatusCode.ERROR, message: problem });
        span.end();
      },
    };
  }

  /** Runs work in a span. Of a failure the span has the type and its fixed sentence. */
  async span<T>(
    given: NewSpan,
    work: (span: OpenSpan) => Promise<T>,
    factsOf: (result: T) => SpanFacts = () => ({}),
  ): Promise<T> {
    const span = this.open(given);
    try {
      const result = await span.within(() => work(span));
      span.end(factsOf(result));
      return result;
    } catch (error) {
      const { failureType, problem } = describe(error);
      span.end({ failureType }, problem);
      throw error;
    }
  }

  /** Runs work as a part of the given trace, without a span of its own. */
  within<T>(parent: RemoteSpan | undefined, work: () => T): T {
    return this.otel.context.with(this.contextOf(parent), work);
  }

  /** A poll has no span while it runs: whether it is worth one is known afterwards. */
  async poll<Status extends { state: string }>(taskId: string, poll: () => Promise<Status>): Promise<Status> {
    const around = this.otel.context.active();
    const found: SpanFacts = { taskId };
    const startTime = Date.now();
    const finish = (outcome: string, facts: SpanFacts, problem?: string) => {
      if (!this.polls.isWorthSpan(taskId, outcome)) return;
      const attributes = attributesOf({ ...found, ...facts });
      const span = this.tracer.startSpan(
        'poll',
        { kind: this.kindOf('client'), startTime, attributes },
        around,
      );
      if (problem !== undefined) span.setStatus({ code: this.otel.SpanStatusCode.ERROR, message: problem });
      span.end();
    };
    try {
      const status = await this.otel.context.with(around.setValue(this.factsKey, found), poll);
      finish(status.state, { state: status.state });
      return status;
    } catch (error) {
      const { failureType, problem } = describe(error);
      finish(failureType, { failureType }, problem);
      throw error;
    }
  }

  annotate(facts: SpanFacts): void {
    Object.assign(Object(this.otel.context.active().getValue(this.factsKey)), facts);
  }

  traceparent(): string | undefined {
    const span = this.otel.trace.getActiveSpan();
    return span && this.traceparentOf(span);
  }

  /** The span of a run of a workflow, which the sandbox reports when the run has ended. */
  recordRun(name: string, run: EndedRun, facts: SpanFacts): void {
    const { outcome, failureType, polls, startedAtMs, endedAtMs } = run;
    const known = parseTraceparent(run.traceparent);
    if (known === undefined) return;
    const attributes = attributesOf({ ...facts, outcome, failureType, polls });
    const options = { kind: this.kindOf('internal'), startTime: startedAtMs, attributes };
    const start = (parent: OpenTelemetry.Context) => this.tracer.startSpan(name, options, parent);
    // The activities of a root have named it as their parent already.
    const isOwnRoot = run.isRoot && this.presetIds !== undefined;
    const span = isOwnRoot
      ? this.presetIds?.using(known, () => start(this.otel.ROOT_CONTEXT))
      : start(this.contextOf(known));
    if (outcome === 'failed') {
      const message = sentenceOf(failureType);
      span?.setStatus({ code: this.otel.SpanStatusCode.ERROR, message });
    }
    span?.end(endedAtMs);
  }

  private contextOf(parent: RemoteSpan | undefined): OpenTelemetry.Context {
    const { context, trace, ROOT_CONTEXT } = this.otel;
    if (parent === undefined) return context.active();
    return trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
  }

  private traceparentOf(span: OpenTelemetry.Span): string | undefined {
    const context = span.spanContext();
    return this.otel.isSpanContextValid(context) ? formatTraceparent(context) : undefined;
  }

  private kindOf(kind: SpanKind): OpenTelemetry.SpanKind {
    const { SERVER, CLIENT, INTERNAL } = this.otel.SpanKind;
    return { server: SERVER, client: CLIENT, internal: INTERNAL }[kind];
  }
}

/** The message of an error is not repeated: a service may quote the prompt in it. */
function describe(error: unknown): { failureType: string; problem: string | undefined } {
  if (error instanceof CancelledFailure) return { failureType: 'Cancelled', problem: undefined };
  if (error instanceof ApplicationFailure) {
    const failureType = fromTemporalType(error.type) ?? error.type ?? error.name;
    return { failureType, problem: sentenceOf(failureType) };
  }
  const failureType = error instanceof Error ? error.name : typeof error;
  return { failureType, problem: failureType };
}

function sentenceOf(failureType: string | undefined): string {
  const known = Object.entries(FAILURES).find(([type]) => type === failureType);
  return known?.[1].meaning ?? failureType ?? 'Unexpected';
}
