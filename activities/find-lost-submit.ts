import { activityInfo, Context } from '@temporalio/activity';
import { decodeFirst } from './decode-first';
import { describeLost, lostBefore } from './submit-note';

export interface FindLostSubmitInput {
  /** Of one submit of many; a workflow's only one has none that the workflow could name. */
  activityId?: string;
}

/**
 * The attempt of a submit that may have made a task, told as long as Temporal has the submit: it forgets what the
 * attempts of a cancelled one left. One whose request is under way counts too: its own end tells more, unless the
 * cancellation comes between that end and the next attempt.
 */
export async function findLostSubmit({ activityId }: FindLostSubmitInput): Promise<{ lost?: string }> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const { raw } = await Context.current().client.workflow.getHandle(workflowId, runId).describe();
  const submit = raw.pendingActivities?.find((pending) =>
    activityId === undefined
      ? pending.activityType?.name === 'submitVideo'
      : pending.activityId === activityId,
  );
  if (submit === undefined) return {};
  const lost = lostBefore(Number(submit.attempt), await decodeFirst(submit.heartbeatDetails));
  return lost === undefined ? {} : { lost: describeLost(lost) };
}
