import { defineQuery, defineSignal, defineUpdate, log, setHandler } from '@temporalio/workflow';
import type { BatchProgress } from '../../src/contract/batch';
import { decisionProblem, isDownloadProgress } from '../../src/contract/input-rules';
import type { ItemDecision } from '../../src/contract/lost-submit';
import { DECIDE_SUBMIT_SIGNAL, DECIDE_SUBMIT_UPDATE, PROGRESS_QUERY } from '../../src/contract/names';
import { checkDecision, decisionRefused, takeDecision, takeSignalled } from '../decisions';
import type { Job } from '../job';
import { downloadProgress, pollNow } from '../messages';
import type { BatchPoller } from './batch-poller';
import type { BatchState } from './batch-state';

export const batchProgress = defineQuery<BatchProgress>(PROGRESS_QUERY);
export const decideItemSignal = defineSignal<[ItemDecision, id?: string]>(DECIDE_SUBMIT_SIGNAL);
export const decideItem = defineUpdate<void, [ItemDecision]>(DECIDE_SUBMIT_UPDATE);

/** What others may ask of a batch while it runs. */
export function answerBatchMessages(batch: BatchState, looks: BatchPoller): void {
  setHandler(batchProgress, () => batch.progress(), { description: 'Where the batch is' });
  setHandler(
    pollNow,
    () => {
      looks.requested = true;
    },
    { description: 'Look at all tasks now instead of later' },
  );
  setHandler(
    downloadProgress,
    (told) => {
      if (isDownloadProgress(told)) batch.jobNamed(told.job)?.recordDownload(told);
    },
    { description: 'Told by a download that takes its time' },
  );
  setHandler(decideItem, async ({ item, ...decision }) => takeDecision(itemAsked(batch, item), decision), {
    description: 'Settles a lost submit of an item: resubmit, adopt (with the taskId) or abandon',
    validator: (given) => {
      const { item, ...decision }: Partial<ItemDecision> = Object(given);
      const problem = decisionProblem(decision);
      if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
      checkDecision(itemAsked(batch, item), decision);
    },
  });
  setHandler(
    decideItemSignal,
    async (given, id) => {
      const { item, ...decision }: ItemDecision = Object(given);
      const job = batch.job(item);
      if (job) await takeSignalled(job, decision, id);
      else log.warn('a decision by signal was refused: its item is not under way', { item });
    },
    { description: 'The same for when Temporal takes no more updates; what came of it is in the progress' },
  );
}

function itemAsked(batch: BatchState, item: unknown): Job {
  if (item === undefined) {
    throw decisionRefused('The decision cannot be taken: name the item of the batch (item, or --item).');
  }
  const job = batch.job(item);
  if (job) return job;
  throw decisionRefused(`The decision cannot be taken: item ${JSON.stringify(item)} is not under way.`);
}
