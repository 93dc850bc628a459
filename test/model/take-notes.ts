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
import { type ActivityEnd, KILLED, type Note, type NumberedNote, type Outcome } from './notes';

export interface NoteSinks extends Sinks {
  notes: { take(numbered: NumberedNote): void };
}

interface ScheduledActivity {
  activityType: string;
  seq: number;
  args: unknown[];
  id?: string;
  closeMs?: Duration;
  isLocal?: boolean;
}

/** What a job asks its own worker, which the model does not play. */
const UNPLAYED = ['inspectPendingSubmit'];

const SHORTEST_TURN_MS = 60_000;

/** Each attempt takes real time, and jobs may be held for a long time of the server. */
const askingSeldom = (deadlineMs: number) => ({
  initialInterval: Math.max(SHORTEST_TURN_MS, deadlineMs / 4),
  backoffCoefficient: 1,
});

type Timeless<N> = N extends Note ? Omit<N, 'atMs'> : never;

/** Writes down what a job, a batch or a fallback does and what happens to it, in the workflow's own time. */
export function interceptors(): WorkflowInterceptors {
  const { workflowType, continuedFromExecutionRunId, parent } = workflowInfo();
  if (![WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE].includes(workflowType)) return {};
  const { notes } = proxySinks<NoteSinks>();
  let number = 0;
  let deadlineMs = 0;
  const signals = new Set<Promise<unknown>>();
  const take = (note: Timeless<Note>) => {
    notes.take({ number, note: { ...note, atMs: Date.now() } });
    number += 1;
  };
  const takeActivity = async (activity: ScheduledActivity, run: () => Promise<unknown>) => {
    if (isCancelled()) return run();
    const { activityType: type, seq, args, id = String(seq), closeMs, isLocal } = activity;
    take({
      kind: 'activity',
      type,
      seq,
      id,
      // The job may change what it gave.
      input: JSON.parse(JSON.stringify(args[0] ?? {})),
      closeMs: typeof closeMs === 'number' ? closeMs : undefined,
      isLocal,
    });
    try {
      const result = await run();
      take({ kind: 'activity-end', type, seq, id, end: { result } });
      return result;
    } catch (error) {
      take({ kind: 'activity-end', type, seq, id, end: endOf(error) });
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
          take({ kind: 'run', continued, input: given, parentRunId: parent?.runId });
          CancellationScope.current().cancelRequested.catch(() => take({ kind: 'cancel' }));
          try {
            const result = await next(input);
            take({ kind: 'end', outcome: { succeeded: result as JobResult } });
            return result;
          } catch (error) {
            if (!(error instanceof ContinueAsNew)) take({ kind: 'end', outcome: outcomeOf(error) });
            throw error;
          } finally {
            await Promise.allSettled(signals);
          }
        },
        async handleSignal(input, next) {
          take({ kind: 'message', name: input.signalName, args: input.args });
          return next(input);
        },
        async handleUpdate(input, next) {
          take({ kind: 'message', name: input.name, args: input.args });
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
          const { activityId: id, scheduleToCloseTimeout: closeMs } = options;
          return takeActivity({ ...input, id, closeMs }, () =>
            next({ ...input, options: { ...options, ...betweenSeconds(closeMs) } }),
          );
        },
        async scheduleLocalActivity(input, next) {
          // Everything is done on the queue of the job.
          if (input.activityType === 'routeJob') return {};
          if (UNPLAYED.includes(input.activityType)) return next(input);
          const { scheduleToCloseTimeout: closeMs } = input.options;
          return takeActivity({ ...input, closeMs, isLocal: true }, () => next(input));
        },
        // The test server skips no more time after a workflow that closes in the task in which it signals another.
        async signalWorkflow(input, next) {
          const signalled = next(input);
          signals.add(signalled);
          return signalled;
        },
        async startChildWorkflowExecution(input, next) {
          const { workflowId: name, args = [] } = input.options;
          if (!isCancelled()) take({ kind: 'child', name, input: Object(args[0]) });
          return next(input);
        },
        async startTimer(input, next) {
          if (!isCancelled()) take({ kind: 'timer', ms: input.durationMs });
          return next(input);
        },
        async continueAsNew(input, next) {
          take({ kind: 'continue', taskIdInMemo: input.options.memo?.[TASK_ID_MEMO] });
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
