import { findWorkflow } from '../client/job-overview';
import { recentNames } from '../client/list-jobs';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { shown } from '../contract/clean-text';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { describeOtherType } from '../contract/job-identity';
import { WORKFLOW_TYPE } from '../contract/names';
import type { JobsSession } from './open-jobs';
import { noSuchJob } from './similar-names';

const MOST_CHILDREN = 3;

/** Finds a job or a batch by its name. The item of a batch is a job named `<batch>-<number>`. */
export async function findJob({ client }: JobsSession, workflowId: string): Promise<JobOverview> {
  checkName(workflowId);
  const found = await findWorkflow(client, workflowId);
  if (found && 'overview' in found) return found.overview;
  if (found) throw new ConfigError(describeOther(workflowId, found));
  const [, batch, item] = /^(.+)-([1-9]\d{0,8})$/s.exec(workflowId) ?? [];
  const ofBatch = batch === undefined ? undefined : await findWorkflow(client, batch);
  if (ofBatch && 'overview' in ofBatch && ofBatch.overview.kind === 'batch') {
    throw new ConfigError(
      `Item ${item} of the batch ${shown(batch ?? '')} has no job: it has not begun, the batch has fewer items, or Temporal has forgotten it.`,
    );
  }
  throw await noSuchJob(workflowId, (most) => recentNames(client, most));
}

export function checkName(workflowId: string): void {
  if (!isWorkflowId(workflowId)) throw new ConfigError(`The name of a job ${WORKFLOW_ID_RULE}.`);
}

function describeOther(
  workflowId: string,
  { otherType, children }: { otherType: string; children: string[] },
): string {
  const what = describeOtherType(workflowId, otherType, WORKFLOW_TYPE);
  const few = children.slice(0, MOST_CHILDREN).map(shown).join(', ');
  return children.length === 0 ? `${what}` : `${what} Video jobs that it waits for: ${few}.`;
}
