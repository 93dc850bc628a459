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
import type { BatchInput, BatchResult, CarriedBatch, CarriedItem } from '../../src/contract/batch';
import { shown } from '../../src/contract/clean-text';
import { createFailure, readFailure } from '../../src/contract/failures';
import { RECORD_POLICY, REQUESTS_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { explainFailure } from '../end';
import { makeVideo } from '../generate-video';
import { continueWith, ifContinued } from '../runs';
import { answerBatchMessages } from './batch-messages';
import { BatchPoller } from './batch-poller';
import { BatchRequests } from './batch-requests';
import { BatchState } from './batch-state';

/** Many requests in; a stored video or an explained failure for each of them out. */
export async function generateVideos(input: BatchInput, carried?: CarriedBatch): Promise<BatchResult> {
  const before = ifContinued(carried);
  const batch = new BatchState(input, before);
  const looks = new BatchPoller(batch, before?.pollRequested);
  looks.run().catch((error: unknown) => batch.recordBug(error));
  const requests = new BatchRequests(input, () => batch.opened);
  for (const { item, job } of before?.running ?? [])
    begin(batch, looks, { item, loadRequest: () => requests.again(item), carried: job });
  // Messages that waited are for items that are under way again.
  answerBatchMessages(batch, looks);
  try {
    await runItems(batch, looks, requests);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => finish(batch, error));
    throw explained(error);
  }
  const failure = batch.stoppingFailure();
  if (failure) throw failure;
  return batch.result();
}

/** Begins items one after the other, as many at a time as the window has room for, until all have ended. */
async function runItems(batch: BatchState, looks: BatchPoller, requests: BatchRequests): Promise<void> {
  await open(batch);
  for (;;) {
    await condition(() => batch.turn(rests(looks)) !== undefined);
    switch (batch.turn(rests(looks))) {
      case 'fail':
        throw batch.broken;
      case 'record':
        await record(batch);
        break;
      case 'continue-as-new':
        await continueWith<BatchInput, CarriedBatch>(batch.input, batch.carry(looks.requested));
        break;
      case 'begin': {
        const request = await requests.next(batch.next);
        const item = batch.takeNext();
        begin(batch, looks, { item, loadRequest: firstly(request, () => requests.again(item)) });
        break;
      }
      case 'end':
        return recordAll(batch);
    }
  }
}

/** Nothing is under way beside the items: neither a look at their tasks nor a lookup of one to adopt. */
const rests = (looks: BatchPoller) => looks.isResting && allHandlersFinished();

interface Begun {
  item: number;
  loadRequest: () => Promise<VideoRequest>;
  carried?: CarriedItem['job'];
}

/** What was read already is given out once, and not kept: what is wanted once more is read again. */
function firstly(request: VideoRequest, again: () => Promise<VideoRequest>): () => Promise<VideoRequest> {
  let first: VideoRequest | undefined = request;
  return async () => {
    const given = first ?? (await again());
    first = undefined;
    return given;
  };
}

/** Runs one item beside the others. How it ends is noted; only a mistake of ours reaches the batch itself. */
function begin(batch: BatchState, looks: BatchPoller, { item, loadRequest, carried }: Begun): void {
  const run = async () => {
    const job = batch.startItem(item, loadRequest, carried);
    try {
      const result = await makeVideo(job, (_, taskId) => looks.next(job, taskId));
      batch.recordSucceeded(item, result);
    } catch (error) {
      const end = await explainFailure(job, error);
      if (job.failure === undefined) throw end;
      batch.recordFailed(item, job.failure);
    }
  };
  run().catch((error: unknown) => batch.recordBug(error));
}

/** What was begun ends first, whatever keeps the batch from beginning more: it may be paid for. */
async function finish(batch: BatchState, error: unknown): Promise<void> {
  batch.stopStarting(isCancellation(error) ? 'the batch was cancelled' : String(error));
  await condition(() => batch.isIdle || batch.broken !== undefined);
  if (batch.broken !== undefined) throw batch.broken;
  await recordAll(batch);
  // Whoever was deciding about an item is told that it has ended.
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
  const given = { requests: requests ?? undefined, requestsFrom: requestsFrom ?? undefined };
  batch.recordOpened(await openBatch({ batch: batch.name, ...given }));
}

/** Whoever cancels the batch waits for it: results that two attempts write at once could replace each other. */
async function record(batch: BatchState): Promise<void> {
  const results = batch.toRecord();
  const { recordResults } = proxyActivities<VideoActivities>({
    ...RECORD_POLICY,
    summary: `${results.length} results`,
  });
  const input = { batch: batch.name, results };
  batch.markRecorded(await CancellationScope.nonCancellable(() => recordResults(input)), results.length);
}

/** A batch that never had its requests has no results either. */
async function recordAll(batch: BatchState): Promise<void> {
  while (batch.opened !== undefined && !batch.isRecorded) await record(batch);
}
