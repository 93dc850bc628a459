import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import { POLL_NOW_SIGNAL } from '../contract/names';
import { endedByTemporal, readFailure, type VideoFailure } from '../contract/video-failure';

/** Options for following a job or a batch. */
export interface FollowOptions {
  /** Milliseconds between two queries. Default: 1000. Temporal Cloud bills each query as an Action. */
  everyMs?: number;
  /** Stops following when it is aborted. The job or batch continues. */
  signal?: AbortSignal;
}

/** What a job and a batch have in common. */
export function followedWorkflow<Progress, Asked>(
  handle: WorkflowHandle,
  progress: (asked?: Asked) => Promise<Progress>,
) {
  return {
    workflowId: handle.workflowId,
    progress,
    follow: (options?: FollowOptions & Asked) => follow(handle, () => progress(options), options),
    pollNow: () => handle.signal(POLL_NOW_SIGNAL),
    cancel: async () => {
      await handle.cancel();
    },
  };
}

/** Yields the progress now and at each change, until the workflow ends or the signal is aborted. */
async function* follow<Progress>(
  handle: WorkflowHandle,
  query: () => Promise<Progress>,
  { everyMs = 1_000, signal }: FollowOptions = {},
): AsyncGenerator<Progress, void, undefined> {
  let last: string | undefined;
  while (!signal?.aborted) {
    const { status } = await handle.describe();
    // No worker may be running to answer; then the next query may succeed.
    const progress = await query().catch(() => undefined);
    const text = JSON.stringify(progress);
    if (progress !== undefined && text !== last) yield progress;
    last = text ?? last;
    if (status.name !== 'RUNNING') return;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A reset terminates a run and starts another, which has the result. */
export async function resultOf<Result>(handle: WorkflowHandle): Promise<Result> {
  for (;;) {
    try {
      return await handle.result();
    } catch (error) {
      if (!(causeOf(error) instanceof TerminatedFailure)) throw error;
      if ((await handle.describe()).status.name === 'TERMINATED') throw error;
    }
  }
}

/** Why a job or a batch failed: an error of this package, if it is about the job or the batch. */
export const failureIn = (error: unknown): VideoFailure | undefined =>
  endedByTemporal(causeOf(error)) ?? readFailure(error);

const causeOf = (error: unknown) => (error instanceof WorkflowFailedError ? error.cause : undefined);
