import type { ClientOptions, WorkflowClientInterceptor } from '@temporalio/client';
import type { Headers } from '@temporalio/common';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { TRACE_HEADER } from '../contract/trace-context';
import { writeTraceHeader } from '../contract/trace-header';
import type { JobTracing } from './job-tracing';
import { openTracing } from './open-tracing';

const OWN_TYPES = new Set([WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE]);

/** Gives the jobs and batches that a client starts the trace of whoever starts them. */
export function clientInterceptor(tracing: JobTracing): WorkflowClientInterceptor {
  /** A start that has a trace already, from an interceptor of the caller, is left alone. */
  const traced = <Input extends StartInput, Output>(
    input: Input,
    start: (input: Input) => Promise<Output>,
    runIdOf: (output: Output) => string,
  ): Promise<Output> => {
    if (input.headers[TRACE_HEADER] || !OWN_TYPES.has(input.workflowType)) return start(input);
    const { workflowId } = input.options;
    return tracing.span(
      { name: `StartWorkflow:${input.workflowType}`, kind: 'client', facts: { workflowId } },
      ({ traceparent }) =>
        start({ ...input, headers: { ...input.headers, ...writeTraceHeader(traceparent) } }),
      (output) => ({ runId: runIdOf(output) }),
    );
  };
  return {
    start: (input, next) => traced(input, next, (runId) => runId),
    startWithDetails: (input, next) => traced(input, next, ({ runId }) => runId),
  };
}

interface StartInput {
  headers: Headers;
  workflowType: string;
  options: { workflowId: string };
}

/** Options for a client of ours. */
export function tracedClient(isOn: boolean): Pick<ClientOptions, 'interceptors'> {
  const tracing = isOn ? openTracing() : undefined;
  return tracing ? { interceptors: { workflow: [clientInterceptor(tracing)] } } : {};
}
