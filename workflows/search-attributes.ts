import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { type Searchable, searchAttributesOf } from '../src/contract/search-attributes';

/**
 * Keeps those of the search attributes up to date that the job was started with, and no others: the server refuses to start
 * a job with one that is not registered, but would have a running one try for ever to set it. Each call costs an Action.
 */
export function keepSearchable(job: Searchable): void {
  if (isAboutToWait(job)) return;
  const { typedSearchAttributes } = workflowInfo();
  const changed = searchAttributesOf(job).filter(({ key, value }) => {
    const present = typedSearchAttributes.get(key);
    return present !== undefined && present !== value;
  });
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** A job that has just got its task waits for it from the same moment on: one call tells both. */
function isAboutToWait({ phase, taskId }: Searchable): boolean {
  return taskId !== undefined && (phase === 'submitting' || phase === 'needs-decision');
}
