import type { Client } from '@temporalio/client';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import { itemName } from '../contract/batch';
import { shown } from '../contract/clean-text';

/** Temporal has no job or batch with the name. */
export class NoSuchJob extends Error {
  override readonly name = 'NoSuchJob';

  constructor(workflowId: string) {
    super(
      `There is no job ${shown(workflowId)}. Check the name. An item of a batch may not have started, and Temporal deletes ended jobs after the namespace's retention; stored videos stay.`,
    );
  }
}

/** Finds a job or a batch by its name. The item of a batch is a job named `<batch>-<number>`. */
export async function findJob({ client }: { client: Client }, workflowId: string): Promise<JobOverview> {
  // Loading Temporal's SDK takes long, and a local server starts meanwhile.
  const { findOverview }: typeof import('../client/job-overview') = require('../client/job-overview');
  const found = await findOverview(client, workflowId);
  if (found === undefined) throw new NoSuchJob(workflowId);
  return found;
}

/** For commands about a single job: one of a batch is an item. */
export function refuseBatch({ kind, workflowId }: JobOverview): void {
  const item = shown(itemName(workflowId, 1));
  if (kind === 'batch')
    throw new ConfigError(`${shown(workflowId)} is a batch: name one of its items, such as ${item}.`);
}
