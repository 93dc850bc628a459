import type { Client } from '@temporalio/client';
import { findOverview } from '../client/job-overview';
import { recentNames } from '../client/list-jobs';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { shown } from '../contract/clean-text';
import { didYouMean, NoSuchJob, namesLike } from './similar-names';

/** Finds a job or a batch by its name. The item of a batch is a job named `<batch>-<number>`. */
export async function findJob({ client }: { client: Client }, workflowId: string): Promise<JobOverview> {
  const found = await findOverview(client, workflowId);
  if (found) return found;
  const [, batch, item] = /^(.+)-([1-9]\d{0,8})$/s.exec(workflowId) ?? [];
  const ofBatch = batch === undefined ? undefined : await findOverview(client, batch);
  if (ofBatch?.kind === 'batch') {
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
