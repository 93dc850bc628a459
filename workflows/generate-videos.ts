import {
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import type { BatchInput, BatchResult, CarriedBatch } from '../src/contract/batch';
import { createFailure, readFailure } from '../src/contract/failures';
import type { CarriedJob } from '../src/contract/job';
import { BATCH_FILE_POLICY } from '../src/contract/policies';
import type { WantedVideo } from '../src/contract/wanted-video';
import { answerBatchMessages } from './batch-messages';
import { BatchState } from './batch-state';
import { ifContinued } from './earlier-runs';
import { explainEnd } from './explain-end';
import { makeVideo } from './generate-video';
import { SharedLooks } from './shared-looks';

/** Many requests in; a stored video or an explained failure for each of them out. */
export async function generateVideos(input: BatchInput, carried?: CarriedBatch): Promise<BatchResult> {
  const batch = new BatchState(input, ifContinued(carried));
  const looks = new SharedLooks(batch);
  answerBatchMessages(batch, looks);
  looks.run().catch((error: unknown) => batch.breaks(error));
  for (const { item, wanted, job } of batch.resumed) begin(batch, looks, item, wanted, job);
  try {
    await runItems(batch, looks);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => finish(batch, error));
    throw explained(error);
  }
  const failure = batch.failedToo();
  if (failure) throw failure;
  return batch.result();
}

/** Begins items one after the other, as many at a time as the window has room for, until all have ended. */
async function runItems(batch: BatchState, looks: SharedLooks): Promise<void> {
  await open(batch);
  for (;;) {
    await condition(() => batch.turn(looks.isResting) !== undefined);
    switch (batch.turn(looks.isResting)) {
      case 'fail':
        throw batch.broken;
      case 'record':
        await record(batch);
        break;
      case 'continue-as-new':
        await continueLater(batch);
        break;
      case 'begin': {
        const wanted = await nextWanted(batch);
        begin(batch, looks, batch.takeTurn(), wanted);
        break;
      }
      case 'end':
        return record(batch);
    }
  }
}

/** Runs one item beside the others. How it ends is noted; only a mistake of ours reaches the batch itself. */
function begin(
  batch: BatchState,
  looks: SharedLooks,
  item: number,
  wanted: WantedVideo,
  carried?: CarriedJob,
): void {
  const run = async () => {
    const job = batch.begins(item, wanted, carried);
    try {
      const result = await makeVideo(job, (_, taskId) => looks.next(job, taskId));
      batch.succeeds(item, result);
    } catch (error) {
      const end = await explainEnd(job, error);
      if (job.failure === undefined) throw end;
      batch.fails(item, job.failure);
    }
  };
  run().catch((error: unknown) => batch.breaks(error));
}

/** What was begun ends first, whatever keeps the batch from beginning more: it may be paid for. */
async function finish(batch: BatchState, error: unknown): Promise<void> {
  batch.stops(isCancellation(error) ? 'the batch was cancelled' : String(error));
  await condition(() => batch.isIdle || batch.broken !== undefined);
  if (batch.broken !== undefined) throw batch.broken;
  await record(batch);
}

function explained(error: unknown): unknown {
  if (isCancellation(error)) return new CancelledFailure('The batch was cancelled');
  const failure = readFailure(error);
  return failure ? createFailure(failure.type, failure.details) : error;
}

const files = (summary: string) => proxyActivities<VideoActivities>({ ...BATCH_FILE_POLICY, summary });

async function open(batch: BatchState): Promise<void> {
  const { requestsFrom, resumes } = batch.input;
  if (requestsFrom != null && batch.file === undefined) {
    batch.opened(await files(requestsFrom).openRequests({ from: requestsFrom }));
  }
  if (resumes && batch.earlier === undefined) {
    batch.goesOnWith(await files('results of the batch before').readEarlierBatch({ batch: batch.name }));
  }
}

async function nextWanted(batch: BatchState): Promise<WantedVideo> {
  const { requestsFrom } = batch.input;
  const { next, file } = batch;
  const taskId = batch.taskToAdopt(next);
  if (taskId !== undefined) return { taskId };
  if (requestsFrom != null && file !== undefined && batch.nextRequest() === undefined) {
    const { readRequests } = files(`${requestsFrom} from ${next} on`);
    batch.hasRead(await readRequests({ from: requestsFrom, sha256: file.sha256, skip: next - 1 }));
  }
  const request = batch.nextRequest();
  if (request === undefined)
    throw createFailure('InvalidRequest', { message: `there is no request ${next}` });
  return { request };
}

/** Whoever cancels the batch waits for it: results that two attempts write at once could replace each other. */
async function record(batch: BatchState): Promise<void> {
  const results = [...batch.unrecorded];
  if (results.length === 0 && batch.results !== undefined) return;
  const { recordResults } = files(`${results.length} results`);
  const input = { batch: batch.name, results, first: batch.recordsFirst };
  batch.recorded(await CancellationScope.nonCancellable(() => recordResults(input)), results.length);
}

type Continued = (input: BatchInput, carried: CarriedBatch) => Promise<BatchResult>;

async function continueLater(batch: BatchState): Promise<never> {
  const continueAsNew = makeContinueAsNewFunc<Continued>({ memo: workflowInfo().memo });
  return continueAsNew(batch.input, batch.carry());
}
