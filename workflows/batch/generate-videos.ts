import {
  CancellationScope,
  ContinueAsNew,
  condition,
  defineQuery,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../../activities';
import {
  type BatchInput,
  type BatchProgress,
  type BatchResult,
  batchProblems,
  itemName,
  type OpenedBatch,
} from '../../src/contract/batch';
import { shown } from '../../src/contract/clean-text';
import { PROGRESS_QUERY } from '../../src/contract/names';
import {
  RECORD_POLICY,
  REQUESTS_POLICY,
  RESULT_BYTES_AT_ONCE,
  RESULTS_AT_ONCE,
} from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { servicesOf } from '../../src/contract/service-choice';
import { firstThatFit, requestsSizeProblem } from '../../src/contract/sizes';
import { readFailure } from '../../src/contract/video-failure';
import { type ChildEnd, ChildJobs } from '../child-jobs';
import { thrown } from '../end';
import { nameProblem, refused, refuseIf } from '../input';
import { logEvent } from '../log-event';
import { type CarriedBatch, continueWith, ifContinued } from '../runs';
import { BatchState } from './batch-state';

/** Query: the progress of a batch. */
export const batchProgress = defineQuery<BatchProgress>(PROGRESS_QUERY);

/**
 * Many requests in; one stored video or one explained failure for each of them out. Each item is a job of its own, a child
 * workflow.
 *
 * @example
 * ```ts
 * const { succeeded, results } = await executeChild(generateVideos, { args: [{ requestsFrom: 'foxes.jsonl' }] });
 * ```
 */
export async function generateVideos(input: BatchInput, passed?: CarriedBatch): Promise<BatchResult> {
  checkBatchInput(input, workflowInfo().workflowId);
  const batch = new BatchState(input, ifContinued(passed));
  const children = new ChildJobs('batch', ({ name, hold }) => batch.recordHold(name, hold != null));
  setHandler(batchProgress, () => batch.progress(), {
    description: 'Returns the counts of the batch and the names of its running items',
  });
  try {
    await runItems(batch, children);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => finish(batch, error));
    const failure = isCancellation(error) ? undefined : readFailure(error);
    throw failure ? thrown(failure) : error;
  }
  const { items = 0, results = { key: '', uri: '' } } = batch;
  const { succeeded, failed } = batch.known;
  logEvent('batchEnded', { items, succeeded, failed });
  const failure = batch.stoppingFailure();
  if (failure) throw failure;
  return { items, succeeded, failed, results, ...batch.cost() };
}

export function checkBatchInput(input: BatchInput | null | undefined, name: string): void {
  const { requests }: Partial<BatchInput> = Object(input);
  refuseIf(
    ...batchProblems(Object(input)),
    Array.isArray(requests) && requestsSizeProblem(requests),
    nameProblem('the name of a batch', name),
  );
}

/** Starts items one after the other, at most `window` at a time, until all have ended. */
async function runItems(batch: BatchState, children: ChildJobs): Promise<void> {
  const { known } = batch;
  const read = requestReader(batch.input, known.opened ?? (await open(batch)));
  // At the same time. Only a bug rejects, and fails the workflow task.
  const watch = (item: number, ending: Promise<ChildEnd>) =>
    void ending.then((end) => batch.recordEnd(item, end));
  for (const item of known.held ?? []) watch(item, children.run(batch.recordStarted(item, { isHeld: true })));
  for (;;) {
    await condition(() => batch.nextStep() !== undefined);
    switch (batch.nextStep()) {
      case 'record':
        await record(batch);
        break;
      case 'continue-as-new':
        await continueWith(batch.input, batch.carry(), { nextItem: known.next });
        break;
      case 'start': {
        const request = await read(known.next);
        const item = batch.takeNext();
        watch(item, children.run(batch.recordStarted(item), batch.itemInput(request)));
        break;
      }
      case 'end':
        return recordAll(batch);
    }
  }
}

/** Lets running items end before the batch does: they may be paid for. */
async function finish(batch: BatchState, error: unknown): Promise<void> {
  batch.stopStarting(isCancellation(error) ? 'the batch was cancelled' : String(error));
  await condition(() => batch.running.size === 0);
  // One that never read its requests has no results either.
  if (batch.known.opened !== undefined) await recordAll(batch);
}

async function open(batch: BatchState): Promise<OpenedBatch> {
  const { requests, requestsFrom } = batch.input;
  const { openBatch } = proxyActivities<VideoActivities>({
    ...REQUESTS_POLICY,
    summary: requestsFrom == null ? `${requests?.length} requests` : shown(requestsFrom),
  });
  const opened = await openBatch({
    batch: batch.name,
    requests: requests ?? undefined,
    requestsFrom: requestsFrom ?? undefined,
    service: servicesOf(batch.input)[0],
  });
  refuseIf(nameProblem('the name of an item', itemName(batch.name, opened.items)));
  batch.recordOpened(opened);
  return opened;
}

/** Writes as many results as fit into one activity input. Not cancellable: two attempts at once could overwrite each other. */
async function record(batch: BatchState): Promise<void> {
  const { name, unrecorded } = batch;
  const results = firstThatFit(unrecorded, { most: RESULTS_AT_ONCE, bytes: RESULT_BYTES_AT_ONCE });
  const { recordResults } = proxyActivities<VideoActivities>({
    ...RECORD_POLICY,
    summary: `${results.length} results`,
  });
  batch.results = await CancellationScope.nonCancellable(() => recordResults({ batch: name, results }));
  unrecorded.splice(0, results.length);
}

/** The file is written even when there are no results. */
async function recordAll(batch: BatchState): Promise<void> {
  while (batch.unrecorded.length > 0 || batch.results === undefined) await record(batch);
}

/** Returns the request of an item. Of a file, only the page with the next items is kept, because it can be large. */
function requestReader(
  { requests, requestsFrom, ...options }: BatchInput,
  { sha256 }: OpenedBatch,
): (item: number) => Promise<VideoRequest> {
  const [service] = servicesOf(options);
  let page = { from: 1, requests: requests ?? [] };
  return async (item) => {
    if (requestsFrom != null && page.requests[item - page.from] === undefined) {
      const { readRequests } = proxyActivities<VideoActivities>({
        ...REQUESTS_POLICY,
        summary: `${shown(requestsFrom)} from item ${item}`,
      });
      const skip = item - 1;
      page = { from: item, requests: await readRequests({ from: requestsFrom, sha256, skip, service }) };
    }
    const request = page.requests[item - page.from];
    if (request === undefined) throw refused(`there is no request ${item}`);
    return request;
  };
}
