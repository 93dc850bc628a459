import type { Client } from '@temporalio/client';
import { findWorkflow } from '../client/job-overview';
import { recentNames } from '../client/list-jobs';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { shown } from '../contract/clean-text';
import { describeOtherType } from '../contract/job-identity';
import { WORKFLOW_TYPE } from '../contract/names';
import { didYouMean, NoSuchJob, namesLike } from './similar-names';

const MOST_CHILDREN = 3;

/** Finds a job or a batch by its name. The item of a batch is a job named `<batch>-<number>`. */
export async function findJob({ client }: { client: Client }, workflowId: string): Promise<JobOverview> {
  const found = await findWorkflow(client, workflowId);
  if (found && 'overview' in found) return found.overview;
  if (found) {
    const few = found.children.slice(0, MOST_CHILDREN).map(shown).join(', ');
    const children = few && ` Video jobs that it waits for: ${few}.`;
    throw new ConfigError(`${describeOtherType(workflowId, found.otherType, WORKFLOW_TYPE)}${children}`);
  }
  const [, batch, item] = /^(.+)-([1-9]\d{0,8})$/s.exec(workflowId) ?? [];
  const ofBatch = batch === undefined ? undefined : await findWorkflow(client, batch);
  if (ofBatch && 'overview' in ofBatch && ofBatch.overview.kind === 'batch') {
    throw new ConfigError(
      `Item ${item} of the batch ${shown(batch ?? '')} has no job: it has not begun, the batch has fewer items, or Temporal has forgotten it.`,
    );
  }
  throw await noSuchJob(client, workflowId);
}

/** The error for a name that Temporal does not have, with those that may be meant. */
export async function noSuchJob(client: Client, workflowId: string): Promise<NoSuchJob> {
  const names = await namesLike(workflowId, (most) => recentNames(client, most));
  return new NoSuchJob(workflowId, didYouMean(names));
}
