import type { BatchResult } from '../contract/batch';
import type { FailureType } from '../contract/failure-table';
import type { JobPhase } from '../contract/job';
import type { JobCost } from '../contract/job-cost';

/**
 * The states of a job or a batch in lists. Each has exactly one: a job that waits for a decision is not `running`. A batch with
 * failed items has `failed`, and what was terminated is `cancelled`.
 */
export const OVERVIEW_STATES = ['running', 'needs-decision', 'succeeded', 'failed', 'cancelled'] as const;

/** One of OVERVIEW_STATES. */
export type OverviewState = (typeof OVERVIEW_STATES)[number];

/** What Temporal knows about a job or a batch without asking a worker. Times are ISO 8601. */
export interface JobOverview {
  workflowId: string;
  runId: string;
  kind: 'job' | 'batch';
  state: OverviewState;
  /** The phase of a job, by its memo and its pending activities. */
  phase?: JobPhase;
  taskId?: string;
  /** The service of the job or batch, if it has a name on the worker. */
  service?: string;
  /** What is known about what a job costs. */
  cost?: JobCost;
  /** How many items of an ended batch are stored and failed. */
  counts?: Pick<BatchResult, 'items' | 'succeeded' | 'failed'>;
  /** Why it failed, or `Cancelled`; unknown if Temporal no longer has its history. */
  failure?: FailureType;
  /** The pending call that has failed and is retried: how often, why, and when again. */
  retrying?: { activity: string; attempt: number; message: string; nextAttemptAt?: string };
  /** Who paused it in Temporal, when and why: the workflow `name`, which is its own or that of its job at one of several services. */
  paused?: { name: string; since: string; by: string; reason: string };
  /** True while a cancellation waits for a worker. */
  isCancelling?: boolean;
  /** The start of its first run. */
  startedAt: string;
  endedAt?: string;
  taskQueue: string;
  /** The workflow that started it as a child. */
  parentId?: string;
  /** What that is, if the job is a part of it: an item of a batch, or the job at one of several services. */
  madeFor?: 'batch' | 'fallback';
}
