import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { ApplicationFailure } from '@temporalio/activity';
import {
  type ItemResult,
  leftOf,
  type OpenedBatch,
  parseResults,
  requestsKey,
  resultsKey,
  type StoredFile,
} from '../src/contract/batch';
import { createFailure } from '../src/contract/failures';
import { RECORD_WITHIN_MS, REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../src/contract/policies';
import { parseRequest, type VideoRequest } from '../src/contract/request';
import { parseRequestLines } from '../src/contract/request-lines';
import { asStorageFault, StorageFault, type VideoStorage } from '../src/storage';

/** A batch by its name, and its requests or the file that they are in. */
export interface OpenBatchInput {
  batch: string;
  requests?: VideoRequest[];
  requestsFrom?: string;
}

export interface ReadRequestsInput {
  from: string;
  /** The requests as they were when the batch began. */
  sha256: string;
  /** How many requests come before those that are wanted. */
  skip: number;
}

export interface RecordResultsInput {
  batch: string;
  results: ItemResult[];
}

/** The files that a batch reads and writes. `requestFields` are those that the service has beyond the interface. */
export function createBatchFiles(storage: VideoStorage, requestFields?: readonly string[]) {
  return {
    /**
     * Reads all requests once, so that a mistake in the last is known before anything is paid for, and the results of
     * whatever ran under the name before: what is stored or paid for is not paid for again.
     */
    async openBatch({ batch, requests: given, requestsFrom }: OpenBatchInput): Promise<OpenedBatch> {
      const requests = requestsFrom === undefined ? checked(given ?? []) : await requestsIn(requestsFrom);
      const { length: items } = requests;
      const sha256 = digestOf(requests);
      return waitingForStorage(async () => {
        await claim(requestsKey(batch), { items, sha256 });
        return { items, sha256, earlier: leftOf(await readResults(batch)) };
      });
    },

    async readRequests({ from, sha256, skip }: ReadRequestsInput): Promise<VideoRequest[]> {
      const requests = await requestsIn(from);
      if (digestOf(requests) === sha256) return page(requests.slice(skip));
      throw refused(`${from} has changed since the batch began; start another batch for what is new in it`);
    },

    /** Adds to the results that are there already; an attempt that comes again changes nothing. */
    async recordResults({ batch, results }: RecordResultsInput): Promise<StoredFile> {
      const begunMs = performance.now();
      const key = resultsKey(batch);
      return waitingForStorage(async () => {
        const lines = new Map(
          [...(await readResults(batch)), ...results].map((result) => [result.item, JSON.stringify(result)]),
        );
        const sorted = [...lines].sort(([a], [b]) => a - b).map(([, line]) => `${line}\n`);
        if (performance.now() - begunMs > RECORD_WITHIN_MS)
          throw new StorageFault(`${key} is read too slowly`);
        return { key, ...(await storage.write(key, sorted.join(''), 'application/x-ndjson')) };
      });
    },
  };

  /** Results under a name are those of the same requests, or a line would be taken for another. */
  async function claim(key: string, requests: { items: number; sha256: string }): Promise<void> {
    const there = await readText(key);
    if (there === undefined) {
      await storage.write(key, `${JSON.stringify(requests)}\n`, 'application/json');
    } else if (Object(readWhole(key, () => JSON.parse(there))).sha256 !== requests.sha256) {
      throw refused(
        `${key} in the storage says that the name was used for other requests; start what is new as a batch of its own, under another name`,
      );
    }
  }

  async function readResults(batch: string): Promise<ItemResult[]> {
    const key = resultsKey(batch);
    const there = await readText(key);
    return readWhole(key, () => parseResults(there ?? ''));
  }

  async function requestsIn(key: string): Promise<VideoRequest[]> {
    const content = await waitingForStorage(() => readText(key));
    if (content === undefined) throw refused(`there is no ${key} in the storage of the worker`);
    const parsed = parseRequestLines(content, requestFields);
    if (!parsed.ok) throw refused(`${key}: ${parsed.problem}`);
    return parsed.requests;
  }

  function checked(given: VideoRequest[]): VideoRequest[] {
    return given.map((one, index) => {
      const parsed = parseRequest(one, requestFields);
      if (!parsed.ok) throw refused(`requests[${index}]: ${parsed.problem}`);
      return parsed.request;
    });
  }

  async function readText(key: string): Promise<string | undefined> {
    return asStorageFault(async () => {
      const stored = await storage.read(key);
      return stored && text(stored);
    });
  }
}

function digestOf(requests: VideoRequest[]): string {
  return createHash('sha256').update(JSON.stringify(requests)).digest('hex');
}

/** We write files whole: one that cannot be read was changed by somebody, who can mend it. */
function readWhole<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StorageFault(`${key} is damaged (${error}): mend it, or put it out of the way`, {
      cause: error,
    });
  }
}

/** As many as go through Temporal in one answer, and one at least. */
function page(requests: VideoRequest[]): VideoRequest[] {
  let bytes = 0;
  const end = requests.slice(0, REQUESTS_AT_ONCE).findIndex((request, index) => {
    bytes += Buffer.byteLength(JSON.stringify(request));
    return index > 0 && bytes > REQUEST_BYTES_AT_ONCE;
  });
  return requests.slice(0, end === -1 ? REQUESTS_AT_ONCE : end);
}

/** However often it fails: the retry policy bounds it. */
async function waitingForStorage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    throw createFailure('StorageFailed', { message: error.message }, { retryable: true, cause: error });
  }
}

function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}
