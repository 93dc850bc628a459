import { activityInfo } from '@temporalio/activity';
import { shown } from '../src/contract/clean-text';
import type { JobOptions } from '../src/contract/job';
import type { VideoRequest } from '../src/contract/request';
import { JobRecord } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { claimTask, type TaskClaim } from '../src/storage/task-claims';
import { describeWorkflow, whileHeartbeating } from './attempt';
import { createPollVideo } from './poll-video';
import {
  digestOf,
  openRecord,
  ownName,
  refuseForgotten,
  type SubmittedTask,
  taskOnRecord,
} from './record-task';
import { type FindTools, toolsFor } from './service-tools';
import { createCallFailure, failingAs } from './to-failure';

/** Input of the activity adoptTask. */
export interface AdoptTaskInput extends Pick<JobOptions, 'service' | 'caller'> {
  taskId: string;
  /** The request of the job, if it has one: its submit is lost. */
  request?: VideoRequest;
  /** Polls the task first: an operator may have mistyped its id. */
  isPolled?: true;
}

/** Takes over a task that the job did not submit, unless another job has it. */
export function createAdoptTask({ find, storage }: { find: FindTools; storage: VideoStorage }) {
  const pollVideo = createPollVideo(find);
  const adopt = failingAs('submit', async (input: AdoptTaskInput): Promise<SubmittedTask> => {
    const { taskId, service, request, caller, isPolled } = input;
    const record = openRecord(storage, digestOf(request ?? { taskId }));
    const recorded = await record.read();
    refuseForgotten(recorded);
    // The task of a lost submit is at the service that it was sent to, whichever one the job names now.
    const sent = recorded.openSends.at(-1);
    const task = { taskId, service: toolsFor(find, sent ? sent.service : service, 'poll').name };
    if (isPolled) await pollVideo({ ...task, waitedMs: 0 });
    const owner = { ...ownName(), record: record.id, caller };
    let other = await claimTask(storage, task, owner);
    // A caller with a key of a gateway learns nothing about tasks of other keys, not even that they exist.
    if (other && caller !== undefined && other.caller !== caller)
      throw createCallFailure('TaskUnknown', 'poll', { taskId }, { isFinal: true });
    if (other && (await endedWithoutVideo(storage, other)))
      other = await claimTask(storage, task, owner, other);
    if (other) {
      const by = shown(other.job);
      throw createCallFailure('InvalidRequest', 'submit', {
        message: `the task ${shown(taskId)} belongs to the job ${by}, which is running or has its video`,
        advice: `Use the video of ${by}, or check the task id.`,
      });
    }
    if (recorded.task?.taskId !== taskId) await record.add({ event: 'task', ...task });
    return taskOnRecord(task, record, { recorded, request }, find);
  });
  return (input: AdoptTaskInput) => whileHeartbeating(() => adopt(input));
}

/** Whether another job may have its task: its own ended, and there is no video of it. */
async function endedWithoutVideo(
  storage: VideoStorage,
  { namespace, job, record }: TaskClaim,
): Promise<boolean> {
  // What runs in another namespace is not ours to know.
  if (namespace !== activityInfo().namespace) return false;
  const recorded =
    record === undefined ? undefined : await new JobRecord(storage, { namespace, job }, record).read();
  if (recorded?.forgotten) return true;
  const found = await describeWorkflow(job);
  // Terminated before it could hand its video over, nobody reaches it under its name.
  if (found) return found.closeTime !== undefined && found.status.name !== 'COMPLETED';
  return recorded?.stored === undefined;
}
