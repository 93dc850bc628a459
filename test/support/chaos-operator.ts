import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { VideoClient } from '../../src/client/video-client';
import { TASK_ID_MEMO } from '../../src/contract/names';

export interface OperatorOptions {
  client: Client;
  videos: VideoClient;
  taskQueue: string;
  /** The task of a job at the service, if there is one. */
  findTask: (workflowId: string) => string | undefined;
  signal: AbortSignal;
}

const ROUND_MS = 1_000;
/** A job without a task is queried only when its submit takes longer than a successful one. */
const LONGEST_SUBMIT_MS = 3_000;
const CONCURRENT_QUERIES = 8;

/**
 * An operator who searches for lost submits and decides them one by one until `signal` aborts. The decisions are in the
 * histories of the jobs. Returns the queries that failed, which happens while no worker is up.
 */
export async function operate(options: OperatorOptions): Promise<string[]> {
  const { signal } = options;
  const problems: string[] = [];
  const decide = (workflowId: string) =>
    decideIfHeld(workflowId, options).catch((error) => void problems.push(`${workflowId}: ${error}`));
  while (!signal.aborted) {
    const candidates = await jobsWithoutTask(options);
    while (candidates.length > 0 && !signal.aborted) {
      await Promise.all(candidates.splice(0, CONCURRENT_QUERIES).map(decide));
    }
    await sleep(ROUND_MS, undefined, { signal }).catch(() => undefined);
  }
  return problems;
}

/** Reads the list of workflows, so that no worker is needed. */
async function jobsWithoutTask({ client, taskQueue }: OperatorOptions): Promise<string[]> {
  const found: string[] = [];
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, memo, startTime } of client.workflow.list({ query })) {
    if (memo?.[TASK_ID_MEMO] !== undefined) continue;
    if (Date.now() - startTime.getTime() > LONGEST_SUBMIT_MS) found.push(workflowId);
  }
  return found;
}

async function decideIfHeld(workflowId: string, { videos, findTask }: OperatorOptions): Promise<void> {
  const job = videos.handle(workflowId);
  const { phase } = await job.progress();
  if (phase !== 'needs-decision') return;
  // The service makes a task when the request arrives, and a held job has no request in flight: no task there means none.
  const taskId = findTask(workflowId);
  await job.decideSubmit(taskId === undefined ? { decision: 'resubmit' } : { decision: 'adopt', taskId });
}
