import { shown } from '../contract/clean-text';
import type { RemovingStorage } from '../retention';
import { isStored } from '../storage';

export interface RestOfJob {
  workflowId: string;
  kind: 'job' | 'batch' | 'item';
  /** Undefined when Temporal has forgotten it. */
  overview: { workflowId: string; taskId?: string } | undefined;
  markers: readonly string[];
}

/** What nobody can remove from here, one sentence each. */
export async function whatStays(storage: RemovingStorage, job: RestOfJob): Promise<string[]> {
  const { workflowId, kind, overview, markers } = job;
  const [first] = markers;
  const task = kind === 'job' && overview?.taskId ? `, as task ${shown(overview.taskId)}` : '';
  const isDeleted = await isStored(storage, `gateway/deleted/${workflowId}.json`).catch(() => false);
  return [
    ...(first === undefined
      ? []
      : [
          `${first}${markers.length > 1 ? ` and ${markers.length - 1} more` : ''}: ${markers.length > 1 ? 'markers' : 'a marker'} without content, so that the same name and request are not paid again.`,
        ]),
    ...(kind === 'item' && overview
      ? [`The history and the results of the batch ${shown(overview.workflowId)}, which name the item.`]
      : []),
    ...(kind !== 'item' && overview
      ? ["Temporal's lists may show it for some minutes, and its archive and backups keep what they have."]
      : []),
    ...(isDeleted ? [`gateway/deleted/${workflowId}.json: the name and the time of a deletion.`] : []),
    // Only a bucket can make links.
    ...(storage.link ? ['Old versions of the objects, if the bucket keeps versions.'] : []),
    'Logs and traces that were written, with the name and the task.',
    `What the service itself keeps${task}: the request and the video.`,
  ];
}
