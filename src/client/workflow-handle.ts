import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { VideoFailure } from '../contract/failures';
import type { SubmitDecision } from '../contract/lost-submit';
import { POLL_NOW_SIGNAL, PROGRESS_QUERY } from '../contract/names';
import { decideSubmit } from './decide-submit';

export interface FollowOptions {
  /** How often is asked; a second unless set. Each question is an Action of Temporal's. */
  everyMs?: number;
  /** Ends the following, as when whoever was told has left. The workflow goes on. */
  signal?: AbortSignal;
}

/** What jobs and batches have in common, being workflows. */
export function followedWorkflow<Progress, Decision extends SubmitDecision>(handle: WorkflowHandle) {
  return {
    workflowId: handle.workflowId,
    exists: () => exists(handle),
    taskQueue: async () => (await handle.describe()).taskQueue,
    progress: () => handle.query<Progress>(PROGRESS_QUERY),
    follow: (options?: FollowOptions) => follow<Progress>(handle, options),
    pollNow: () => handle.signal(POLL_NOW_SIGNAL),
    decideSubmit: (decision: Decision) => decideSubmit(handle, decision),
    cancel: async () => {
      await handle.cancel();
    },
  };
}

async function exists(handle: WorkflowHandle): Promise<boolean> {
  try {
    await handle.describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Where it is, now and each time that has changed, until it has ended or nobody wants to know. */
async function* follow<Progress>(
  handle: WorkflowHandle,
  { everyMs = 1_000, signal }: FollowOptions = {},
): AsyncGenerator<Progress, void, undefined> {
  let told: string | undefined;
  while (!signal?.aborted) {
    const { status } = await handle.describe();
    // While no worker runs there is nobody to answer; what cannot be asked now is asked again.
    const progress = await handle.query<Progress>(PROGRESS_QUERY).catch(() => undefined);
    const text = JSON.stringify(progress);
    if (progress !== undefined && text !== told) yield progress;
    told = text ?? told;
    if (status.name !== 'RUNNING') return;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A reset ends a run and begins another: the workflow goes on under its name. */
export async function resultOf<Result>(handle: WorkflowHandle): Promise<Result> {
  for (;;) {
    try {
      return await handle.result();
    } catch (error) {
      if (!wasTerminated(error)) throw error;
      if ((await handle.describe()).status.name === 'TERMINATED') throw error;
    }
  }
}

/** The end of a job, or of a batch, that Temporal tells in its own way: a cancellation, a termination or a time limit. */
export function endedByTemporal(error: unknown): VideoFailure | undefined {
  const cause = causeOf(error);
  if (cause instanceof CancelledFailure) return new VideoFailure('Cancelled', {}, { cause: error });
  if (cause instanceof TerminatedFailure) {
    return new VideoFailure('Cancelled', { message: `terminated: ${cause.message}` }, { cause: error });
  }
  if (cause instanceof TimeoutFailure) {
    const message = 'it was started with a time limit of Temporal, which ended it';
    return new VideoFailure('DeadlineExceeded', { message }, { cause: error });
  }
  return undefined;
}

const wasTerminated = (error: unknown) => causeOf(error) instanceof TerminatedFailure;

const causeOf = (error: unknown) => (error instanceof WorkflowFailedError ? error.cause : undefined);
