import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { VideoActivities } from '../../activities';
import type { BatchInput, BatchResult } from '../../src/contract/batch';
import type { CarriedBatch, CarriedJob } from '../../src/contract/carried-over';
import { shown } from '../../src/contract/clean-text';
import { RECORD_POLICY, REQUESTS_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { choiceOf } from '../../src/contract/service-choice';
import { createFailure, readFailure } from '../../src/contract/video-failure';
import { explainFailure } from '../end';
import { makeVideo } from '../generate-video';
import type { JobHost } from '../job';
import { logEvent } from '../log-event';
import { continueWith, ifContinued } from '../runs';
import { answerBatchMessages } from './batch-messages';
import { BatchPoller } from './batch-poller';
import { BatchRequests } from './batch-requests';
import { BatchState } from './batch-state';

/**
 * Many requests in; one stored video or one explained failure for each of them out.
 *
 * @example
 * ```ts
 * const { succeeded, results } = await executeChild(generateVideos, { args: [{ requestsFrom: 'foxes.jsonl' }] });
 * ```
 */
export async function generateVideos(input: BatchInput, passed?: CarriedBatch): Promise<BatchResult> {
  const carried = ifContinued(passed);
  const batch = new BatchState(input, carried);
  const poller = new BatchPoller(batch, carried?.pollRequested);
  void CancellationScope.nonCancellable(() => condition(() => batch.showChanges()));
  poller.run().catch((error: unknown) => batch.recordBug(error));
  const requests = new BatchRequests(input, () => batch.opened);
  for (const { item, job } of carried?.running ?? [])
    start(batch, poller, { item, loadRequest: () => requests.reload(item), carried: job });
  // Only now: messages that waited are for items that run again.
  answerBatchMessages(batch, poller);
  try {
    await runItems(batch, poller, requests);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => finish(batch, error));
    throw explained(error);
  }
  const { items, succeeded, failed } = batch.result();
  logEvent('batchEnded', { items, succeeded, failed });
  const failure = batch.stoppingFailure();
  if (failure) throw failure;
  return batch.result();
}

/** Starts items one after the other, at most `window` at a time, until all have ended. */
async function runItems(batch: BatchState, poller: BatchPoller, requests: BatchRequests): Promise<void> {
  await open(batch);
  // Neither a poll nor a decision is under way, so nothing would be lost by continuing as new.
  const isQuiet = () => poller.isIdle && allHandlersFinished();
  const nextStep = () => batch.nextStep(isQuiet());
  for (;;) {
    // Throws in a cancelled batch. Otherwise a condition that is met already would only cost a turn of the workflow.
    if (nextStep() === undefined || CancellationScope.current().consideredCancelled)
      await condition(() => nextStep() !== undefined);
    switch (nextStep()) {
      case 'fail':
        throw batch.bug;
      case 'record':
        await record(batch);
        break;
      case 'continue-as-new':
        await continueWith<BatchInput, CarriedBatch>(batch.input, batch.carry(poller.pollRequested), {
          nextItem: batch.next,
        });
        break;
      case 'start': {
        // Without a promise for each item: all that fit into the window start in one turn of the workflow.
        const request = requests.loaded(batch.next) ?? (await requests.load(batch.next));
        const item = batch.takeNext();
        start(batch, poller, { item, loadRequest: onceThen(request, () => requests.reload(item)) });
        break;
      }
      case 'end':
        return recordAll(batch);
    }
  }
}

interface StartedItem {
  item: number;
  loadRequest: JobHost['loadRequest'];
  carried?: CarriedJob;
}

/** Gives out the loaded request once and then forgets it: requests can be large. */
function onceThen(request: VideoRequest, reload: () => Promise<VideoRequest>): JobHost['loadRequest'] {
  let loaded: VideoRequest | undefined = request;
  return () => {
    const given = loaded ?? reload();
    loaded = undefined;
    return given;
  };
}

/** Runs one item beside the others and records how it ends. Only a bug reaches the batch itself. */
function start(batch: BatchState, poller: BatchPoller, { item, loadRequest, carried }: StartedItem): void {
  const run = async () => {
    const job = batch.startItem(item, loadRequest, carried);
    try {
      batch.recordSucceeded(item, await makeVideo(job, poller));
    } catch (error) {
      const failure = await explainFailure(job, error);
      if (job.failure === undefined) throw failure;
      batch.recordFailed(item, job.failure, job);
    }
  };
  run().catch((error: unknown) => batch.recordBug(error));
}

/** Lets running items end before the batch does: they may be paid for. */
async function finish(batch: BatchState, error: unknown): Promise<void> {
  batch.stopStarting(isCancellation(error) ? 'the batch was cancelled' : String(error));
  await condition(() => batch.isIdle || batch.bug !== undefined);
  if (batch.bug !== undefined) throw batch.bug;
  await recordAll(batch);
  // Callers that are deciding about an item learn that it has ended.
  await condition(allHandlersFinished);
}

function explained(error: unknown): unknown {
  if (isCancellation(error)) return new CancelledFailure('The batch was cancelled');
  const failure = readFailure(error);
  return failure ? createFailure(failure.type, failure.details) : error;
}

async function open(batch: BatchState): Promise<void> {
  if (batch.opened !== undefined) return;
  const { requests, requestsFrom } = batch.input;
  const { openBatch } = proxyActivities<VideoActivities>({
    ...REQUESTS_POLICY,
    summary: requestsFrom == null ? `${requests?.length} requests` : shown(requestsFrom),
  });
  const service = choiceOf(batch.input);
  const given = {
    requests: requests ?? undefined,
    requestsFrom: requestsFrom ?? undefined,
    ...(service && { service }),
  };
  const opened = await openBatch({ batch: batch.name, ...given });
  batch.recordOpened(opened);
  logEvent('batchOpened', { items: opened.items });
}

/** Not cancellable: two attempts that write results at once could overwrite each other. */
async function record(batch: BatchState): Promise<void> {
  const results = batch.toRecord();
  const { recordResults } = proxyActivities<VideoActivities>({
    ...RECORD_POLICY,
    summary: `${results.length} results`,
  });
  const input = { batch: batch.name, results };
  batch.markRecorded(await CancellationScope.nonCancellable(() => recordResults(input)), results.length);
}

/** A batch that never read its requests has no results either. */
async function recordAll(batch: BatchState): Promise<void> {
  while (batch.opened !== undefined && !batch.isRecorded) await record(batch);
}
