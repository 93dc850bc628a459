import { activityInfo, Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { shown } from '../src/contract/clean-text';
import type { VideoRequest } from '../src/contract/request';
import { JobRecord } from '../src/storage/job-record';
import type { VideoStorage } from '../src/storage/storage';
import { claimTask, type TaskHolder, takeOverTask } from '../src/storage/task-claims';
import { whileHeartbeating } from './attempt';
import { digestOf, openRecord, ownName } from './job-record';
import { createPollVideo } from './poll-video';
import { type FindTools, toolsFor } from './service-tools';
import { type SubmittedTask, submittedTask } from './submit/submitted-task';
import { createCallFailure, toFailure } from './to-failure';

/** Input of the activity adoptTask. */
export interface AdoptTaskInput {
  taskId: string;
  service?: string;
  /** The request of the job, if it has one: its submit is lost. */
  request?: VideoRequest;
  /** Whose job it is. */
  caller?: string;
  /** Polls the task first: an operator may have mistyped its id. */
  isPolled?: true;
}

/** Takes over a task that the job did not submit, unless another job has it. */
export function createAdoptTask({ find, storage }: { find: FindTools; storage: VideoStorage }) {
  const pollVideo = createPollVideo(find);
  return async function adoptTask(input: AdoptTaskInput): Promise<SubmittedTask> {
    const { taskId, request, caller, isPolled } = input;
    const record = openRecord(storage, digestOf(request ?? { taskId }));
    const owner = { ...ownName(), record: record.id, caller };
    return whileHeartbeating(
      () => undefined,
      async () => {
        const tools = toolsFor(find, await serviceOf(record, input), 'poll');
        const task = { taskId, service: tools.name };
        if (isPolled) await pollVideo({ ...task, waitedMs: 0 });
        try {
          let claim = await claimTask(storage, task, owner);
          if (!claim.claimed && isOfOthers(claim.by, caller))
            throw createCallFailure('TaskUnknown', 'poll', { taskId }, { isFinal: true });
          if (!claim.claimed && (await endedWithoutVideo(storage, claim.by)))
            claim = await takeOverTask(storage, task, owner, claim.by);
          if (!claim.claimed) throw hasAnotherJob(taskId, claim.by);
          const recorded = await record.read();
          if (recorded.task?.taskId !== taskId) await record.add({ event: 'task', ...task });
          const isStored = recorded.stored?.taskId === taskId;
          return {
            ...submittedTask(task, { record: record.id, request }, tools),
            ...(isStored && { isStored }),
          };
        } catch (error) {
          throw toFailure(error, 'submit');
        }
      },
    );
  };
}

/** The task of a lost submit is at the service that it was sent to, whichever one the job names now. */
async function serviceOf(
  record: JobRecord,
  { request, service }: AdoptTaskInput,
): Promise<string | undefined> {
  if (request === undefined) return service;
  const { openSends } = await record.read().catch((error: unknown) => {
    throw toFailure(error, 'submit');
  });
  const sent = openSends.at(-1);
  return sent ? sent.service : service;
}

/** Whether another job may have its task: its own ended, and there is no video of it. */
async function endedWithoutVideo(
  storage: VideoStorage,
  { namespace, job, record }: TaskHolder,
): Promise<boolean> {
  // What runs in another namespace is not ours to know.
  if (namespace !== activityInfo().namespace) return false;
  const recorded =
    record === undefined ? undefined : await new JobRecord(storage, { namespace, job }, record).read();
  if (recorded?.forgotten) return true;
  if (recorded?.stored) return false;
  try {
    const { status } = await Context.current().client.workflow.getHandle(job).describe();
    return !['RUNNING', 'PAUSED', 'COMPLETED'].includes(status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

/** Whoever has a key of a gateway learns nothing about tasks of other keys, not even that they exist. */
function isOfOthers(by: TaskHolder, caller: string | undefined): boolean {
  return caller !== undefined && by.caller !== caller;
}

function hasAnotherJob(taskId: string, by: TaskHolder) {
  return createCallFailure('InvalidRequest', 'submit', {
    message: `the task ${shown(taskId)} belongs to the job ${shown(by.job)}, which is running or has its video`,
    advice: `Use the video of ${shown(by.job)}, or check the task id.`,
  });
}
