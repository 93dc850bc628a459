import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ApplicationFailure } from '@temporalio/activity';
import {
  doneBefore,
  type ItemResult,
  type OpenedBatch,
  parseResults,
  requestsKey,
  resultsKey,
  type StoredFile,
} from '../../src/contract/batch';
import { createFailure } from '../../src/contract/failures';
import { RECORD_WITHIN_MS, REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../../src/contract/policies';
import { parseRequest, type VideoRequest } from '../../src/contract/request';
import { parseRequestLines } from '../../src/contract/request-lines';
import {
  firstThatFit,
  itemCountProblem,
  LARGEST_REQUESTS_FILE_BYTES,
  requestsFileProblem,
} from '../../src/contract/sizes';
import { asStorageFault, StorageFault, type VideoStorage } from '../../src/storage';

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
  /** How many are wanted at the most; as many as fit unless set. */
  most?: number;
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
      const tooMany = itemCountProblem(items);
      if (tooMany !== undefined) throw refused(`${requestsFrom ?? 'requests'}: ${tooMany}`);
      const sha256 = digestOf(requests);
      return waitingForStorage(async () => {
        await claim(requestsKey(batch), { items, sha256 });
        return { items, sha256, earlier: doneBefore(await readResults(batch)) };
      });
    },

    async readRequests({ from, sha256, skip, most }: ReadRequestsInput): Promise<VideoRequest[]> {
      const requests = await requestsIn(from);
      const limits = { most: most ?? REQUESTS_AT_ONCE, bytes: REQUEST_BYTES_AT_ONCE };
      if (digestOf(requests) === sha256) return firstThatFit(requests.slice(skip), limits);
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
    const content = await waitingForStorage(() => readText(key, LARGEST_REQUESTS_FILE_BYTES));
    if (content === undefined) throw refused(`there is no ${key} in the storage of the worker`);
    const tooLarge = requestsFileProblem(Buffer.byteLength(content));
    if (tooLarge !== undefined) throw refused(`${key}: ${tooLarge}`);
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

  /** Reads a little more than it may have at the most, and no further. */
  async function readText(key: string, mostBytes = Number.POSITIVE_INFINITY): Promise<string | undefined> {
    return asStorageFault(async () => {
      const stored = await storage.read(key);
      return stored && text(untilOver(stored, mostBytes));
    });
  }
}

function digestOf(requests: VideoRequest[]): string {
  return createHash('sha256').update(JSON.stringify(requests)).digest('hex');
}

/** We write files whole: one that cannot be read was changed by somebody, who can fix it. */
function readWhole<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StorageFault(`${key} is damaged (${error}): fix it, or put it out of the way`, {
      cause: error,
    });
  }
}

async function* untilOver(content: Readable, mostBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of content) {
    yield chunk;
    bytes += chunk.length;
    if (bytes > mostBytes) return;
  }
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
