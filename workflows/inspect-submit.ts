import { CancellationScope, isCancellation, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { InspectedSubmit, SubmittedTask, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import { INSPECT_SUBMIT_POLICY } from '../src/contract/policies';
import { createFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';

/**
 * Submits so that a cancellation hides no lost submit. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and its heartbeat notes are gone. So the notes are read first, and then the submit is cancelled.
 */
export async function inspectBeforeCancelling(
  job: Job,
  submitVideo: () => Promise<SubmittedTask>,
  takeNoted: (noted: { taskId: string; service?: string | undefined }) => Promise<SubmittedTask>,
): Promise<SubmittedTask> {
  const { cancelRequested, consideredCancelled } = CancellationScope.current();
  // Fails at once, with nothing sent.
  if (consideredCancelled) return submitVideo();
  // A cancellation of the job does not reach it: only this function cancels it.
  const shield = new CancellationScope({ cancellable: false });
  const sending = new CancellationScope({ cancellable: true, parent: shield });
  let isOver = false;
  let inspecting: Promise<InspectedSubmit> | undefined;
  void cancelRequested.catch(async () => {
    if (isOver) return;
    inspecting = CancellationScope.nonCancellable(() => inspect(job));
    await inspecting;
    sending.cancel();
  });
  try {
    const submitted = await sending.run(submitVideo);
    isOver = true;
    if (inspecting) await inspecting;
    return submitted;
  } catch (error) {
    isOver = true;
    const { taskId, service, lost }: InspectedSubmit = inspecting ? await inspecting : {};
    // A failure of the running attempt says more than the cancellation.
    if (!isCancellation(error)) throw error;
    if (taskId !== undefined) return takeNoted({ taskId, service });
    if (lost === undefined) throw error;
    throw createFailure('SubmitUnconfirmed', {
      message: lost.why,
      lostSubmit: lost.id,
      service: lost.service,
    });
  }
}

/** A local activity is quick: until it returns, a submit that is no longer wanted may still be sent. */
async function inspect(job: Job): Promise<InspectedSubmit> {
  const { inspectPendingSubmit } = proxyLocalActivities<VideoActivities>({
    ...INSPECT_SUBMIT_POLICY,
    summary: 'read the notes of the cancelled submit',
  });
  try {
    return await inspectPendingSubmit();
  } catch (error) {
    logJob(job, 'submitNotInspected', { error: cleanText(String(error)) });
    const id = `${workflowInfo().runId}/cancelled`;
    return { lost: { id, why: 'it could not be read how its attempts ended' } };
  }
}
