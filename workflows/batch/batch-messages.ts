import { defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { BatchProgress } from '../../src/contract/batch';
import { decisionProblem, isDownloadProgress } from '../../src/contract/input-rules';
import type { ItemDecision } from '../../src/contract/lost-submit';
import { DECIDE_SUBMIT_SIGNAL, DECIDE_SUBMIT_UPDATE, PROGRESS_QUERY } from '../../src/contract/names';
import { checkDecision, decisionRefused, takeDecision, takeSignalled } from '../decisions';
import type { Job } from '../job';
import { logEvent } from '../log-event';
import { downloadProgress, pollNow } from '../messages';
import type { BatchPoller } from './batch-poller';
import type { BatchState } from './batch-state';

/** Query: the progress of a batch. */
export const batchProgress = defineQuery<BatchProgress>(PROGRESS_QUERY);
export const decideItemSignal = defineSignal<[ItemDecision, id?: string]>(DECIDE_SUBMIT_SIGNAL);
/** Update: settles the lost submit of an item of a batch. */
export const decideItem = defineUpdate<void, [ItemDecision]>(DECIDE_SUBMIT_UPDATE);

/** Handles the messages that a running batch accepts. */
export function answerBatchMessages(batch: BatchState, poller: BatchPoller): void {
  setHandler(batchProgress, () => batch.progress(), {
    description: 'Returns the progress of the batch and its running items',
  });
  setHandler(
    pollNow,
    () => {
      poller.pollRequested = true;
    },
    { description: 'Polls all tasks now instead of at their next polls' },
  );
  setHandler(
    downloadProgress,
    (soFar) => {
      if (isDownloadProgress(soFar)) batch.jobNamed(soFar.job)?.recordDownload(soFar);
    },
    { description: 'Sent by a long download to report its progress' },
  );
  setHandler(decideItem, async ({ item, ...decision }) => takeDecision(jobOf(batch, item), decision), {
    description: 'Decides on the lost submit of an item: adopt (with the taskId), resubmit or abandon',
    validator: (given) => {
      const { item, ...decision }: Partial<ItemDecision> = Object(given);
      const problem = decisionProblem(decision);
      if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
      checkDecision(jobOf(batch, item), decision);
    },
  });
  setHandler(
    decideItemSignal,
    async (given, id) => {
      const { item, ...decision }: ItemDecision = Object(given);
      const job = batch.job(item);
      if (job) await takeSignalled(job, decision, id);
      else logEvent('decisionRefused', { item, reason: 'its item is not running' });
    },
    {
      description:
        'The same as a signal, for when Temporal accepts no more updates; see the progress for the outcome',
    },
  );
}

function jobOf(batch: BatchState, item: unknown): Job {
  if (item === undefined) {
    throw decisionRefused('The decision cannot be taken: name the item of the batch (item, or --item).');
  }
  const job = batch.job(item);
  if (job) return job;
  throw decisionRefused(`The decision cannot be taken: item ${JSON.stringify(item)} is not running.`);
}
