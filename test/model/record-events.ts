import type { Duration } from '@temporalio/common';
import {
  CancellationScope,
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobResult } from '../../src/contract/job';
import {
  BATCH_WORKFLOW_TYPE,
  FALLBACK_WORKFLOW_TYPE,
  TASK_ID_MEMO,
  WORKFLOW_TYPE,
} from '../../src/contract/names';
import { readFailure } from '../../src/contract/video-failure';
import { readTimeout } from '../../workflows/end';
import { type ActivityEnd, KILLED, type NumberedEvent, type Outcome, type WorkflowEvent } from './events';

export interface EventSinks extends Sinks {
  events: { record(numbered: NumberedEvent): void };
}

interface ScheduledActivity {
  activityType: string;
  seq: number;
  args: unknown[];
  closeMs?: Duration;
  isLocal?: boolean;
}

const SHORTEST_TURN_MS = 60_000;

/** Each attempt takes real time, and jobs may be held for a long time of the server. */
const askingSeldom = (deadlineMs: number) => ({
  initialInterval: Math.max(SHORTEST_TURN_MS, deadlineMs / 4),
  backoffCoefficient: 1,
});

type Timeless<Event> = Event extends WorkflowEvent ? Omit<Event, 'atMs'> : never;

/** Records what a job, a batch or a fallback does and what happens to it, in the workflow's own time. */
export function interceptors(): WorkflowInterceptors {
  const { workflowType, continuedFromExecutionRunId, parent } = workflowInfo();
  if (![WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE].includes(workflowType)) return {};
  const { events } = proxySinks<EventSinks>();
  let number = 0;
  let deadlineMs = 0;
  const signals = new Set<Promise<unknown>>();
  const record = (event: Timeless<WorkflowEvent>) => {
    events.record({ number, event: { ...event, atMs: Date.now() } });
    number += 1;
  };
  const recordActivity = async (activity: ScheduledActivity, run: () => Promise<unknown>) => {
    if (isCancelled()) return run();
    const { activityType: type, seq, args, closeMs, isLocal } = activity;
    record({
      kind: 'activity',
      type,
      seq,
      // The job may change what it gave.
      input: JSON.parse(JSON.stringify(args[0] ?? {})),
      closeMs: typeof closeMs === 'number' ? closeMs : undefined,
      isLocal,
    });
    try {
      const result = await run();
      record({ kind: 'activity-end', type, seq, end: { result } });
      return result;
    } catch (error) {
      record({ kind: 'activity-end', type, seq, end: endOf(error) });
      throw error;
    }
  };
  return {
    inbound: [
      {
        async execute(input, next) {
          const continued = continuedFromExecutionRunId !== undefined;
          const given = Object(input.args[0]);
          deadlineMs = given.deadline;
          record({ kind: 'run', continued, input: given, parentRunId: parent?.runId });
          CancellationScope.current().cancelRequested.catch(() => record({ kind: 'cancel' }));
          try {
            const result = await next(input);
            record({ kind: 'end', outcome: { succeeded: result as JobResult } });
            return result;
          } catch (error) {
            if (!(error instanceof ContinueAsNew)) record({ kind: 'end', outcome: outcomeOf(error) });
            throw error;
          } finally {
            await Promise.allSettled(signals);
          }
        },
        async handleSignal(input, next) {
          record({ kind: 'message', name: input.signalName, args: input.args });
          return next(input);
        },
        async handleUpdate(input, next) {
          record({ kind: 'message', name: input.name, args: input.args });
          return next(input);
        },
      },
    ],
    outbound: [
      {
        async scheduleActivity(input, next) {
          const { options } = input;
          if (input.activityType === 'awaitJob')
            return next({ ...input, options: { ...options, retry: askingSeldom(deadlineMs) } });
          const { scheduleToCloseTimeout: closeMs } = options;
          return recordActivity({ ...input, closeMs }, () =>
            next({ ...input, options: { ...options, ...betweenSeconds(closeMs) } }),
          );
        },
        async scheduleLocalActivity(input, next) {
          // Everything is done on the queue of the job.
          if (input.activityType === 'routeJob') return {};
          // What a job asks its own worker, the model does not have.
          if (input.activityType === 'inspectPendingSubmit') return next(input);
          const { scheduleToCloseTimeout: closeMs } = input.options;
          return recordActivity({ ...input, closeMs, isLocal: true }, () => next(input));
        },
        // The test server skips no more time after a workflow that closes in the task in which it signals another.
        async signalWorkflow(input, next) {
          const signalled = next(input);
          signals.add(signalled);
          return signalled;
        },
        async startChildWorkflowExecution(input, next) {
          const { workflowId: name, args = [] } = input.options;
          if (!isCancelled()) record({ kind: 'child', name, input: Object(args[0]) });
          return next(input);
        },
        async startTimer(input, next) {
          if (!isCancelled()) record({ kind: 'timer', ms: input.durationMs });
          return next(input);
        },
        async continueAsNew(input, next) {
          record({ kind: 'continue', taskIdInMemo: input.options.memo?.[TASK_ID_MEMO] });
          await Promise.allSettled(signals);
          return next(input);
        },
      },
    ],
  };
}

/** The SDK starts no activity and no timer for a scope that is cancelled already. */
function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}

/**
 * The test server retries for ever an activity whose time ends at a whole second (TestServiceRetryState.java takes zero
 * nanoseconds for no end at all). One in a thousand would; with a microsecond more, none does.
 */
function betweenSeconds(closeMs: Duration | undefined): { scheduleToCloseTimeout?: number } {
  return typeof closeMs === 'number' ? { scheduleToCloseTimeout: closeMs + 0.001 } : {};
}

function endOf(error: unknown): ActivityEnd {
  if (isCancellation(error)) return { failed: 'cancelled' };
  if (readTimeout(error) !== undefined) return { failed: 'timeout' };
  const failure = readFailure(error);
  if (failure) return { failed: failure.type, details: failure.details };
  // The failure of a local activity is not wrapped.
  const { message, cause } = Object(error);
  return { failed: [message, cause?.message].includes(KILLED) ? 'killed' : 'other' };
}

function outcomeOf(error: unknown): Outcome {
  if (isCancellation(error)) return { failed: 'Cancelled' };
  const failure = readFailure(error);
  return { failed: failure?.type ?? 'Unexpected', details: failure?.details };
}
