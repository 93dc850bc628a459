import type { Headers } from '@temporalio/common';
import {
  ApplicationFailure,
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sink,
  type Sinks,
  type WorkflowInfo,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { fromTemporalType } from '../src/contract/failure-table';
import {
  BATCH_WORKFLOW_TYPE,
  FALLBACK_WORKFLOW_TYPE,
  WEBHOOK_WORKFLOW_TYPE,
  WORKFLOW_TYPE,
} from '../src/contract/names';
import {
  type EndedRun,
  formatTraceparent,
  ownTrace,
  parseTraceparent,
  type TRACE_SINK,
} from '../src/contract/trace-context';
import { readTraceHeader, writeTraceHeader } from '../src/contract/trace-header';

interface TraceSink extends Sink {
  ended(run: EndedRun): void;
}

interface TraceSinks extends Sinks {
  [TRACE_SINK]: TraceSink;
}

const OWN_TYPES = new Set([
  WORKFLOW_TYPE,
  FALLBACK_WORKFLOW_TYPE,
  BATCH_WORKFLOW_TYPE,
  WEBHOOK_WORKFLOW_TYPE,
]);

/**
 * Hands the trace of the caller on to activities, to webhooks and to the next run, and tells when the run has ended. In a
 * host's worker, only of our workflows.
 *
 * Nothing here waits, and nothing is wrapped into a promise: that would delay the workflow by a turn, so that it would give
 * the same commands in another order, and a job that began without tracing would not replay. The SDK's own interceptors do it.
 */
export const interceptors = (): WorkflowInterceptors => {
  const info = workflowInfo();
  return OWN_TYPES.has(info.workflowType)
    ? traceInterceptors(info, (run) => proxySinks<TraceSinks>().videogenTraces.ended(run))
    : {};
};

type RunInfo = Pick<WorkflowInfo, 'namespace' | 'workflowId' | 'firstExecutionRunId' | 'runStartTime'>;

export function traceInterceptors(info: RunInfo, report: (run: EndedRun) => void) {
  const trace = new RunTrace(info, report);
  return {
    inbound: [
      {
        execute: (input, next) => {
          trace.start(input.headers);
          const running = next(input);
          running.then(
            () => trace.end('succeeded'),
            (error: unknown) => trace.endWith(error),
          );
          return running;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(trace.withHeaders(trace.counted(input))),
        scheduleLocalActivity: (input, next) => next(trace.withHeaders(trace.counted(input))),
        startChildWorkflowExecution: (input, next) => next(trace.withHeaders(input)),
        continueAsNew: (input, next) => next(trace.withHeaders(input)),
        getLogAttributes: (input, next) => next({ traceId: trace.traceId, ...input }),
      },
    ],
  } satisfies WorkflowInterceptors;
}

/** The trace that one run belongs to. */
class RunTrace {
  private traceparent = '';
  private headers: Headers = {};
  private isRoot = false;
  private polls = 0;

  constructor(
    private readonly info: RunInfo,
    private readonly report: (run: EndedRun) => void,
  ) {}

  /** What comes with a start is not ours: it is taken only if it is a trace. */
  start(given: Headers): void {
    const { namespace, workflowId, firstExecutionRunId } = this.info;
    const caller = readTraceHeader(given);
    const span = caller ?? ownTrace(namespace, workflowId, firstExecutionRunId);
    this.isRoot = caller === undefined;
    this.traceparent = formatTraceparent(span);
    this.headers = writeTraceHeader(this.traceparent);
  }

  /** Undefined for lines before the start. */
  get traceId(): string | undefined {
    return parseTraceparent(this.traceparent)?.traceId;
  }

  counted<Input extends { activityType: string }>(input: Input): Input {
    if (input.activityType === 'pollVideo') this.polls++;
    return input;
  }

  withHeaders<Input extends { headers: Headers }>(input: Input): Input {
    return { ...input, headers: { ...this.headers, ...input.headers } };
  }

  endWith(error: unknown): void {
    if (error instanceof ContinueAsNew) this.end('continued-as-new');
    else if (isCancellation(error)) this.end('cancelled');
    else this.end('failed', error instanceof ApplicationFailure ? fromTemporalType(error.type) : undefined);
  }

  end(outcome: EndedRun['outcome'], failureType?: string): void {
    this.report({
      traceparent: this.traceparent,
      isRoot: this.isRoot,
      startedAtMs: this.info.runStartTime.getTime(),
      endedAtMs: Date.now(),
      outcome,
      failureType,
      polls: this.polls,
    });
  }
}
