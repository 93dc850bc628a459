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
import { BATCH_WORKFLOW_TYPE, TASK_ID_MEMO, WORKFLOW_TYPE } from '../../src/contract/names';
import { readFailure, readTimeout } from '../../src/contract/video-failure';
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

type Timeless<N> = N extends Note ? Omit<N, 'atMs'> : never;

/** Writes down what a job does and what happens to it, in the workflow's own time. */
export function interceptors(): WorkflowInterceptors {
  const { workflowType, continuedFromExecutionRunId } = workflowInfo();
  if (![WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE].includes(workflowType)) return {};
  const { notes } = proxySinks<NoteSinks>();
  let number = 0;
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
      input: Object(args[0]),
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
          take({ kind: 'run', continued });
          CancellationScope.current().cancelRequested.catch(() => take({ kind: 'cancel' }));
          try {
            const result = await next(input);
            take({ kind: 'end', outcome: { succeeded: result as JobResult } });
            return result;
          } catch (error) {
            if (!(error instanceof ContinueAsNew)) take({ kind: 'end', outcome: outcomeOf(error) });
            throw error;
          }
        },
        async handleSignal(input, next) {
          take({ kind: 'signal', name: input.signalName, args: input.args });
          return next(input);
        },
      },
    ],
    outbound: [
      {
        async scheduleActivity(input, next) {
          const { options } = input;
          const { activityId: id, scheduleToCloseTimeout: closeMs } = options;
          return takeActivity({ ...input, id, closeMs }, () =>
            next({ ...input, options: { ...options, ...betweenSeconds(closeMs) } }),
          );
        },
        async scheduleLocalActivity(input, next) {
          // The workflow's part of a cancellation, which the model does not play.
          if (input.activityType === 'inspectPendingSubmit') return next(input);
          const { scheduleToCloseTimeout: closeMs } = input.options;
          return takeActivity({ ...input, closeMs, isLocal: true }, () => next(input));
        },
        async startTimer(input, next) {
          if (!isCancelled()) take({ kind: 'timer', ms: input.durationMs });
          return next(input);
        },
        async continueAsNew(input, next) {
          take({ kind: 'continue', taskIdInMemo: input.options.memo?.[TASK_ID_MEMO] });
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
