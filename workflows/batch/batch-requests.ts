import { proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../../activities';
import type { BatchInput, OpenedBatch } from '../../src/contract/batch';
import { shown } from '../../src/contract/clean-text';
import { REQUESTS_POLICY } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { choiceOf } from '../../src/contract/service-choice';
import { createFailure } from '../../src/contract/video-failure';

/**
 * Reads the requests of a batch when they are needed. Of a file, only the page with the next items is kept, and nothing is
 * carried over, because it can be large. Requests in the input are passed on with it.
 */
export class BatchRequests {
  private page: { from: number; requests: VideoRequest[] } = { from: 1, requests: [] };
  private lastReading: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly input: BatchInput,
    /** Identifies the requests as they were when the batch started. */
    private readonly opened: () => OpenedBatch | undefined,
  ) {}

  /** The request of an item that starts, if it is there already. */
  loaded(item: number): VideoRequest | undefined {
    return this.input.requestsFrom == null ? this.given(item) : this.inPage(item);
  }

  /** Reads the request of an item that starts, and the next ones with it. */
  async load(item: number): Promise<VideoRequest> {
    const { requestsFrom } = this.input;
    if (requestsFrom != null) this.page = { from: item, requests: await this.read(requestsFrom, item) };
    return existing(item, this.loaded(item));
  }

  /** The request of an item that started before. */
  async reload(item: number): Promise<VideoRequest> {
    const { requestsFrom } = this.input;
    if (requestsFrom == null) return this.given(item);
    return existing(item, (await this.read(requestsFrom, item, 1))[0]);
  }

  private given(item: number): VideoRequest {
    return existing(item, this.input.requests?.[item - 1]);
  }

  private inPage(item: number): VideoRequest | undefined {
    return this.page.requests[item - this.page.from];
  }

  /** One at a time: a workflow task may send at most 4 MB, and each page of requests is sent on in submits. */
  private read(from: string, item: number, most?: number): Promise<VideoRequest[]> {
    const { readRequests } = proxyActivities<VideoActivities>({
      ...REQUESTS_POLICY,
      summary: most === 1 ? `item ${item} of ${shown(from)}` : `${shown(from)} from item ${item}`,
    });
    const sha256 = this.opened()?.sha256 ?? '';
    const service = choiceOf(this.input);
    const asked = { from, sha256, skip: item - 1, most, ...(service && { service }) };
    const reading = this.lastReading.then(() => readRequests(asked));
    this.lastReading = reading.catch(() => undefined);
    return reading;
  }
}

function existing(item: number, request: VideoRequest | undefined): VideoRequest {
  if (request !== undefined) return request;
  throw createFailure('InvalidRequest', { message: `there is no request ${item}` });
}
