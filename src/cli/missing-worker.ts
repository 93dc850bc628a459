import type { Client } from '@temporalio/client';
import { findUnserved } from '../client/missing-worker';
import { readTaskQueue } from '../config/queues';
import type { Environment } from '../config/service-config';
import { inShell, shown } from '../contract/clean-text';

/** Names the task queue on which a job or batch waits although no worker polls it; undefined if there is none. */
export async function describeMissingWorker(
  client: Client,
  workflowId: string,
  env: Environment,
): Promise<string | undefined> {
  const unserved = await findUnserved(client.workflow, workflowId);
  if (unserved === undefined) return undefined;
  const { queue, waitsFor } = unserved;
  const work = waitsFor === 'workflows' ? 'so' : 'which does its submits or downloads, so';
  return `No worker polls task queue ${shown(queue)}, ${work} ${shown(workflowId)} waits; start one with: ${workerCommand(queue, waitsFor, env)}`;
}

function workerCommand(queue: string, waitsFor: 'workflows' | 'activities', env: Environment): string {
  const isConfigured = waitsFor === 'activities' || queue === readTaskQueue(env);
  return isConfigured ? 'videogen worker' : `VIDEOGEN_TASK_QUEUE=${inShell(queue)} videogen worker`;
}
