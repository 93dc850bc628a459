import { proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../../activities';
import {
  BATCH_FIELDS,
  BATCH_SOURCE_RULE,
  BATCH_STORAGE_RULE,
  type BatchInput,
  batchOptionProblem,
  isBatchStorage,
  type OpenedBatch,
} from '../../src/contract/batch';
import { shown } from '../../src/contract/clean-text';
import { FALLBACK_FIELDS } from '../../src/contract/fallback';
import { fieldProblem } from '../../src/contract/input-rules';
import { REQUESTS_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { choiceProblem, servicesOf } from '../../src/contract/service-choice';
import { requestsSizeProblem } from '../../src/contract/sizes';
import { createFailure } from '../../src/contract/video-failure';
import { checkInput, refused } from '../input';

/** The requests of a batch. Of a file, only the page with the next items is kept, because it can be large. */
export class BatchRequests {
  private page: { from: number; requests: VideoRequest[] } = { from: 1, requests: [] };

  constructor(
    private readonly input: BatchInput,
    /** Identifies the requests as they were when the batch started. */
    private readonly opened: OpenedBatch,
  ) {}

  /** The request of the next item. A page is read at a time: a workflow task may send at most 4 MB. */
  async next(item: number): Promise<VideoRequest> {
    const { requests, requestsFrom } = this.input;
    if (requestsFrom != null && this.inPage(item) === undefined)
      this.page = { from: item, requests: await this.read(requestsFrom, item) };
    const request = requestsFrom == null ? requests?.[item - 1] : this.inPage(item);
    if (request !== undefined) return request;
    throw createFailure('InvalidRequest', { message: `there is no request ${item}` });
  }

  private inPage(item: number): VideoRequest | undefined {
    return this.page.requests[item - this.page.from];
  }

  private read(from: string, item: number): Promise<VideoRequest[]> {
    const { readRequests } = proxyActivities<VideoActivities>({
      ...REQUESTS_POLICY,
      summary: `${shown(from)} from item ${item}`,
    });
    const [service] = servicesOf(this.input);
    return readRequests({
      from,
      sha256: this.opened.sha256,
      skip: item - 1,
      ...(service && { service }),
    });
  }
}

/** Any SDK can start a batch without our client. */
export function checkBatchInput(input: BatchInput | null | undefined): void {
  if (input == null || (input.requests == null) === (input.requestsFrom == null)) {
    throw refused(BATCH_SOURCE_RULE);
  }
  const { requests, requestsFrom: _from, window: _window, onFailure: _onFailure, ...given } = input;
  const { services: _services, fallbackAfter: _after, ...options } = given;
  const problem =
    fieldProblem(input, BATCH_FIELDS) ??
    fieldProblem(input, FALLBACK_FIELDS) ??
    choiceProblem(given) ??
    (requests == null ? undefined : requestsSizeProblem(requests)) ??
    batchOptionProblem(options);
  if (problem !== undefined) throw refused(problem);
  checkInput({ ...options, request: { prompt: 'any' } });
  if (!isBatchStorage(options.storage)) throw refused(`storage ${BATCH_STORAGE_RULE}`);
}
