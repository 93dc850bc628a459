import type { FailureDetails } from '../../src/contract/failure-details';
import type { FailureType } from '../../src/contract/failure-table';
import type { JobResult } from '../../src/contract/job';

/** The message of the error that ends the attempt of a killed worker. */
export const KILLED = 'the worker was killed';

/**
 * How an activity ended for the workflow. `killed`: its last attempt was, by an error that stands for the timeout. The
 * test server lets no time pass while an attempt runs, so the timeout itself cannot happen.
 */
export type ActivityEnd =
  | { result: unknown }
  | {
      failed: FailureType | 'timeout' | 'cancelled' | 'killed' | 'other';
      details?: FailureDetails;
    };

/** How a job ended, or a batch, of which only the failure counts. */
export type Outcome = { succeeded: JobResult } | { failed: FailureType; details?: FailureDetails };

/** One thing that happened in a workflow, at its own time. `seq` counts the activities of a run. */
export type WorkflowEvent = { atMs: number } & (
  | { kind: 'run'; continued: boolean; input: Record<string, unknown>; parentRunId?: string }
  | { kind: 'child'; name: string; input: Record<string, unknown> }
  | { kind: 'message'; name: string; args: unknown[] }
  | { kind: 'cancel' }
  | {
      kind: 'activity';
      type: string;
      seq: number;
      input: Record<string, unknown>;
      closeMs?: number;
      isLocal?: boolean;
    }
  | { kind: 'activity-end'; type: string; seq: number; end: ActivityEnd }
  | { kind: 'timer'; ms: number }
  | { kind: 'continue'; taskIdInMemo?: unknown }
  | { kind: 'end'; outcome: Outcome }
);

/** An event with its place in its run: a workflow task that failed is done again, and its events are recorded again. */
export interface NumberedEvent {
  number: number;
  event: WorkflowEvent;
}
