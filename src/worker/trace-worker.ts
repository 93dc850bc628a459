import type { ClientInterceptors } from '@temporalio/client';
import type {
  ActivityInterceptorsFactory,
  BundleOptions,
  InjectedSinks,
  WorkerOptions,
} from '@temporalio/worker';
import type { VideoActivities } from '../../activities';
import { NEXUS_SERVICE } from '../contract/names';
import { type EndedRun, parseTraceparent, TRACE_SINK } from '../contract/trace-context';
import { readTraceHeader } from '../contract/trace-header';
import { clientInterceptor } from '../tracing/client-interceptor';
import type { JobTracing } from '../tracing/job-tracing';
import { openTracing } from '../tracing/open-tracing';
import type { SpanFacts } from '../tracing/span-facts';

/** Each attempt has a span; polls choose themselves whether they get one: see poll-spans.ts. */
const SPANS: Readonly<Record<keyof VideoActivities, 'attempt' | 'poll'>> = {
  submitVideo: 'attempt',
  inspectPendingSubmit: 'attempt',
  recallSubmit: 'attempt',
  pollVideo: 'poll',
  adoptTask: 'attempt',
  awaitJobs: 'attempt',
  downloadVideo: 'attempt',
  cancelVideo: 'attempt',
  findService: 'attempt',
  findTurn: 'attempt',
  findReceiver: 'attempt',
  sendWebhook: 'attempt',
  openBatch: 'attempt',
  readRequests: 'attempt',
  recordResults: 'attempt',
};
const KINDS = new Map<string, 'attempt' | 'poll'>(Object.entries(SPANS));

/** Activities of a host are left alone. */
function activityInterceptors(tracing: JobTracing): ActivityInterceptorsFactory {
  return ({ info }) => {
    const { activityType, activityId, attempt, workflowExecution } = info;
    const outbound = {
      getLogAttributes: (input: object, next: (input: Record<string, unknown>) => Record<string, unknown>) =>
        next({ traceId: parseTraceparent(tracing.traceparent())?.traceId, ...input }),
    };
    if (KINDS.get(activityType) === 'poll') {
      return {
        outbound,
        inbound: {
          execute: (input, next) => tracing.within(readTraceHeader(input.headers), () => next(input)),
        },
      };
    }
    if (!KINDS.has(activityType)) return {};
    const { workflowId, runId } = workflowExecution ?? {};
    return {
      outbound,
      inbound: {
        execute: (input, next) =>
          tracing.span(
            {
              name: `RunActivity:${activityType}`,
              kind: 'internal',
              parent: readTraceHeader(input.headers),
              facts: { workflowId, runId, activityId, attempt, ...factsIn(input.args[0]) },
            },
            () => next(input),
            factsIn,
          ),
      },
    };
  };
}

/** Of the input and the result of an activity, these alone are in a span. */
function factsIn(value: unknown): SpanFacts {
  const { taskId, video }: Record<string, unknown> = Object(value);
  const { bytes }: { bytes?: unknown } = Object(video);
  return {
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof bytes === 'number' && { bytes }),
  };
}

/** The module of interceptors that must be in the bundle of the workflows. */
export const TRACE_MODULE = require.resolve('../../workflows/trace-interceptors');

export function traceSinks(tracing: JobTracing): InjectedSinks<{
  [TRACE_SINK]: { ended(run: EndedRun): void };
}> {
  return {
    [TRACE_SINK]: {
      ended: {
        fn: ({ workflowType, workflowId, runId }, run) =>
          tracing.recordRun(`RunWorkflow:${workflowType}`, run, { workflowId, runId }),
        callDuringReplay: false,
      },
    },
  };
}

type TracedOptions = Pick<WorkerOptions, 'interceptors' | 'sinks' | 'workflowBundle'>;

/**
 * Adds tracing to a worker. A bundle that the caller built has the interceptors of workflows only if it was built with
 * TRACE_MODULE; without them activities start traces of their own.
 */
export function withTracing<Options extends Partial<TracedOptions>>(
  options: Options,
  tracing: JobTracing,
): Options {
  const { interceptors = {}, sinks, workflowBundle } = options;
  return {
    ...options,
    sinks: { ...sinks, ...traceSinks(tracing) },
    interceptors: {
      ...interceptors,
      client: {
        ...interceptors.client,
        workflow: ofClient(interceptors.client?.workflow, tracing),
      },
      activity: [...(interceptors.activity ?? []), activityInterceptors(tracing)],
      nexus: [...(interceptors.nexus ?? []), () => ({ inbound: nexusInterceptor(tracing) })],
      workflowModules: [
        ...(interceptors.workflowModules ?? []),
        ...(workflowBundle === undefined ? [TRACE_MODULE] : []),
      ],
    },
  };
}

type WorkerInterceptors = NonNullable<WorkerOptions['interceptors']>;
type NexusInbound = NonNullable<ReturnType<NonNullable<WorkerInterceptors['nexus']>[number]>['inbound']>;

/** Interceptors in the SDK's older form, an object, stay as they are: they cannot be added to. */
function ofClient(
  given: ClientInterceptors['workflow'],
  tracing: JobTracing,
): ClientInterceptors['workflow'] {
  if (given !== undefined && !Array.isArray(given)) return given;
  return [...(given ?? []), clientInterceptor(tracing)];
}

/** Nexus carries the trace of its caller as an HTTP header. Only operations of ours get a span. */
function nexusInterceptor(tracing: JobTracing): NexusInbound {
  return {
    startOperation: (input, next) => {
      const { service, operation, headers } = input.ctx;
      if (service !== NEXUS_SERVICE) return next(input);
      return tracing.span(
        {
          name: `RunStartNexusOperation:${service}/${operation}`,
          kind: 'server',
          parent: parseTraceparent(headers.traceparent),
          facts: {},
        },
        () => next(input),
      );
    },
  };
}

/** The options of the SDK's worker with tracing, if it is on and OpenTelemetry is installed. */
export function tracedWorker<Options extends Partial<TracedOptions>>(
  options: Options,
  isOn: boolean,
): Options {
  const tracing = isOn ? openTracing() : undefined;
  return tracing ? withTracing(options, tracing) : options;
}

/** For a bundle that the caller builds. */
export function withTraceModule(options: BundleOptions): BundleOptions {
  const { workflowInterceptorModules = [] } = options;
  return {
    ...options,
    workflowInterceptorModules: [...new Set([...workflowInterceptorModules, TRACE_MODULE])],
  };
}
