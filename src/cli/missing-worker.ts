import type { Client } from '@temporalio/client';
import { findUnserved } from '../client/missing-worker';
import { describeRun } from '../client/temporal-calls';
import type { Environment } from '../config/service-config';
import { readSetting } from '../config/settings';
import { cleanText, inShell, shown } from '../contract/clean-text';
import { WORKFLOW_TYPE } from '../contract/names';
import { keyIdOf } from '../encryption/encryption-codec';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { isNotDecryptedType } from '../encryption/not-decrypted';
import { withinCall } from './find-temporal';

/**
 * Names the task queue on which a job or batch waits although no worker polls it, or the key that its worker lacks; undefined if there
 * is neither.
 */
export async function describeMissingWorker(
  client: Client,
  workflowId: string,
  env: Environment,
): Promise<string | undefined> {
  const unserved = await findUnserved(client.workflow, workflowId);
  if (unserved === undefined) return describeMissingKey(client, workflowId);
  const { queue, waitsFor } = unserved;
  const work = waitsFor === 'workflows' ? 'so' : 'which does its submits or downloads, so';
  const isConfigured = waitsFor === 'activities' || queue === readSetting('VIDEOGEN_TASK_QUEUE', env);
  const setting = isConfigured ? '' : `VIDEOGEN_TASK_QUEUE=${inShell(queue)} `;
  return `No worker polls task queue ${shown(queue)}, ${work} ${shown(workflowId)} waits; start one with: ${setting}videogen worker`;
}

/** More than one attempt of a workflow task has few events after its failure. */
const NEWEST_EVENTS = 10;

/** A worker without the key fails the job's workflow task, or an activity, with a sentence that anyone can read. */
async function describeMissingKey(client: Client, workflowId: string): Promise<string | undefined> {
  const { pendingWorkflowTask, pendingActivities } = (await describeRun(client, { workflowId })) ?? {};
  const failures = (pendingActivities ?? []).map(({ lastFailure }) => lastFailure);
  if ((pendingWorkflowTask?.attempt ?? 1) > 1) {
    const { namespace } = client.options;
    const asked = { namespace, execution: { workflowId }, maximumPageSize: NEWEST_EVENTS };
    const { history } = await withinCall(client, () =>
      client.workflowService.getWorkflowExecutionHistoryReverse(asked),
    );
    failures.push(
      ...(history?.events ?? []).map((event) => event.workflowTaskFailedEventAttributes?.failure),
    );
  }
  const unread = failures.find((failure) => isNotDecryptedType(failure?.applicationFailureInfo?.type));
  return unread ? `A worker cannot read ${shown(workflowId)}. ${cleanText(unread.message ?? '')}` : undefined;
}

/** As many as can be described within the time of one check. */
const MOST_JOBS = 10;

/** A running job that its worker cannot decrypt, or that was encrypted with a key which is not in the ring. */
export async function findUnreadableJob(
  client: Client,
  ring: EncryptionKeyRing | undefined,
): Promise<string | undefined> {
  const { executions } = await withinCall(client, () =>
    client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      pageSize: MOST_JOBS,
      query: `WorkflowType = '${WORKFLOW_TYPE}' AND CloseTime IS NULL`,
    }),
  );
  const problems = (executions ?? []).map(async ({ execution, memo }) => {
    const workflowId = execution?.workflowId ?? '';
    const keyIds = Object.values(memo?.fields ?? {}).flatMap((payload) => keyIdOf(payload) ?? []);
    const missing = keyIds.find((id) => ring?.find(id) === undefined);
    if (missing !== undefined)
      return `${shown(workflowId)} is encrypted with the key ${shown(missing)}, which is not set here`;
    return describeMissingKey(client, workflowId);
  });
  return (await Promise.all(problems)).find((problem) => problem !== undefined);
}
