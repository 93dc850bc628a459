import { findWorkflow } from '../client/job-overview';
import { recentNames } from '../client/list-jobs';
import { ConfigError } from '../config/service-config';
import { type JobOverview, shown } from '../contract';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { describeOtherType } from '../contract/job-identity';
import { WORKFLOW_TYPE } from '../contract/names';
import type { JobsSession } from './open-jobs';
import { noSuchJob } from './similar-names';

/** A job, a batch, or one item of a batch. */
export interface FoundJob {
  /** Of the batch, for an item. */
  overview: JobOverview;
  item?: number;
}

const MOST_CHILDREN = 3;

/** Finds a job or a batch by its name, or an item of a batch by `<batch>-<number>`. */
export async function findJob({ client }: JobsSession, workflowId: string): Promise<FoundJob> {
  checkName(workflowId);
  const found = await findWorkflow(client, workflowId);
  if (found && 'overview' in found) return found;
  if (found) throw new ConfigError(describeOther(workflowId, found));
  const [, batch, item] = /^(.+)-([1-9]\d{0,8})$/s.exec(workflowId) ?? [];
  const batchFound = batch === undefined ? undefined : await findWorkflow(client, batch);
  if (batchFound && 'overview' in batchFound && batchFound.overview.kind === 'batch') {
    const { counts } = batchFound.overview;
    if (counts && Number(item) > counts.items) {
      throw new ConfigError(
        `The batch ${shown(batch ?? '')} has ${counts.items} items, and no item ${item}.`,
      );
    }
    return { ...batchFound, item: Number(item) };
  }
  throw await noSuchJob(workflowId, (most) => recentNames(client, most));
}

/** The same for commands that do nothing with a single item. */
export async function findWhole(session: JobsSession, workflowId: string): Promise<JobOverview> {
  const { overview, item } = await findJob(session, workflowId);
  if (item === undefined) return overview;
  throw new ConfigError(
    `${shown(workflowId)} is item ${item} of the batch ${shown(overview.workflowId)}: name the batch.`,
  );
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
