import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { ApplicationFailure } from '@temporalio/activity';
import {
  type EarlierBatch,
  type ItemResult,
  leftOf,
  parseResults,
  type RequestFile,
  resultsKey,
  type StoredFile,
} from '../src/contract/batch';
import { createFailure } from '../src/contract/failures';
import { REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { parseRequestLines } from '../src/contract/request-lines';
import { asStorageFault, StorageFault, type VideoStorage } from '../src/storage';

export interface ReadRequestsInput {
  from: string;
  /** The file as it was when the batch began. */
  sha256: string;
  /** How many requests of it come before those that are wanted. */
  skip: number;
}

export interface RecordResultsInput {
  batch: string;
  results: ItemResult[];
  /** The first results of a batch: what an older one of the same name left there goes. */
  first?: boolean;
}

/** The files that a batch reads and writes. `requestFields` are those that the service has beyond the interface. */
export function createBatchFiles(storage: VideoStorage, requestFields?: readonly string[]) {
  return {
    /** Reads all of it once, so that a mistake in the last line is known before anything is paid for. */
    async openRequests({ from }: { from: string }): Promise<RequestFile> {
      const { requests, sha256 } = await requestsIn(from);
      return { items: requests.length, sha256 };
    },

    async readRequests({ from, sha256, skip }: ReadRequestsInput): Promise<VideoRequest[]> {
      const file = await requestsIn(from);
      if (file.sha256 === sha256) return page(file.requests.slice(skip));
      throw refused(`${from} has changed since the batch began; start another batch for what is new in it`);
    },

    /** Adds to the results that are there already; an attempt that comes again changes nothing. */
    async recordResults({ batch, results, first }: RecordResultsInput): Promise<StoredFile> {
      const key = resultsKey(batch);
      return waitingForStorage(async () => {
        const there = first ? undefined : await readText(key);
        const lines = new Map(
          [...parseResults(there ?? ''), ...results].map((result) => [result.item, JSON.stringify(result)]),
        );
        const sorted = [...lines].sort(([a], [b]) => a - b).map(([, line]) => `${line}\n`);
        return { key, ...(await storage.write(key, sorted.join(''), 'application/x-ndjson')) };
      });
    },

    /** What an earlier batch of the same name left to do. */
    async readEarlierBatch({ batch }: { batch: string }): Promise<EarlierBatch> {
      return leftOf(parseResults((await waitingForStorage(() => readText(resultsKey(batch)))) ?? ''));
    },
  };

  async function requestsIn(key: string): Promise<{ requests: VideoRequest[]; sha256: string }> {
    const content = await waitingForStorage(() => readText(key));
    if (content === undefined) throw refused(`there is no ${key} in the storage of the worker`);
    const parsed = parseRequestLines(content, requestFields);
    if (!parsed.ok) throw refused(`${key}: ${parsed.problem}`);
    return { requests: parsed.requests, sha256: createHash('sha256').update(content).digest('hex') };
  }

  async function readText(key: string): Promise<string | undefined> {
    return asStorageFault(async () => {
      const stored = await storage.read(key);
      return stored && text(stored);
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
