import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { VideoClient } from '../../src/client/video-client';
import { TASK_ID_MEMO } from '../../src/contract/names';

export interface OperatorOptions {
  client: Client;
  videos: VideoClient;
  taskQueue: string;
  /** What a look at the service says about the task of a job. */
  findTask: (workflowId: string) => string | undefined;
  signal: AbortSignal;
}

const ROUND_MS = 1_000;
/** A job without a task is asked only when its submit takes longer than one that went well. */
const SUBMIT_TAKES_MS = 3_000;
const QUESTIONS_AT_ONCE = 8;

/**
 * Somebody who looks for lost submits and decides them one by one, until told to stop. What was decided is in the
 * histories of the jobs; what is given back are the questions that nobody answered, as happens with no worker up.
 */
export async function operate(options: OperatorOptions): Promise<string[]> {
  const { signal } = options;
  const problems: string[] = [];
  const decide = (workflowId: string) =>
    decideIfHeld(workflowId, options).catch((error) => void problems.push(`${workflowId}: ${error}`));
  while (!signal.aborted) {
    const candidates = await jobsWithoutTask(options);
    while (candidates.length > 0 && !signal.aborted) {
      await Promise.all(candidates.splice(0, QUESTIONS_AT_ONCE).map(decide));
    }
    await sleep(ROUND_MS, undefined, { signal }).catch(() => undefined);
  }
  return problems;
}

/** The list alone tells which jobs have a task: no worker is asked for it. */
async function jobsWithoutTask({ client, taskQueue }: OperatorOptions): Promise<string[]> {
  const found: string[] = [];
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, memo, startTime } of client.workflow.list({ query })) {
    if (memo?.[TASK_ID_MEMO] !== undefined) continue;
    if (Date.now() - startTime.getTime() > SUBMIT_TAKES_MS) found.push(workflowId);
  }
  return found;
}

async function decideIfHeld(workflowId: string, { videos, findTask }: OperatorOptions): Promise<void> {
  const job = videos.handle(workflowId);
  const { phase } = await job.progress();
  if (phase !== 'needs-decision') return;
  // A task is made when its request arrives, and a held job has no request on its way any more: none there is none.
  const taskId = findTask(workflowId);
  await job.decideSubmit(taskId === undefined ? { decision: 'resubmit' } : { decision: 'adopt', taskId });
}
