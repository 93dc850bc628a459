import { hash } from 'node:crypto';
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
import { sumOf } from '../../src/contract/money';
import { RECORD_WITHIN_MS, REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../../src/contract/policies';
import { parseRequest, parseRequestLines, type VideoRequest } from '../../src/contract/request';
import {
  firstThatFit,
  itemCountProblem,
  LARGEST_REQUESTS_FILE_BYTES,
  requestsFileProblem,
} from '../../src/contract/sizes';
import { createFailure } from '../../src/contract/video-failure';
import { estimateCost, type ServiceProfile } from '../../src/service';
import { asStorageFault, StorageFault, type VideoStorage } from '../../src/storage';
import { readUpTo, writeSmallJson } from '../../src/storage/small-files';
import type { FindTools } from '../service-tools';
import { failingAs } from '../to-failure';

/** Input of the activity openBatch. */
export interface OpenBatchInput {
  /** The named service that says which fields requests may have. */
  service?: string;
  /** The name of the batch. */
  batch: string;
  requests?: VideoRequest[];
  /** The key of the file with the requests. */
  requestsFrom?: string;
}

/** Input of the activity readRequests. */
export interface ReadRequestsInput {
  /** As for openBatch. */
  service?: string;
  /** The key of the file with the requests. */
  from: string;
  /** The digest of the requests when the batch started. */
  sha256: string;
  /** How many requests to skip. */
  skip: number;
}

/** Input of the activity recordResults. */
export interface RecordResultsInput {
  /** The name of the batch. */
  batch: string;
  results: ItemResult[];
}

/** The files of a batch. The profile of its service says which fields its requests may have, and what they cost. */
export function createBatchFiles(storage: VideoStorage, find: FindTools) {
  return {
    /**
     * Checks all requests before anything is paid for, and reads the results of earlier runs under the same name, so that
     * nothing is paid for twice.
     */
    openBatch: failingAs('submit', async (input: OpenBatchInput): Promise<OpenedBatch> => {
      const { batch, requests: given, requestsFrom, service } = input;
      const { requestFields, prices } = profileFor(service);
      const requests =
        requestsFrom === undefined
          ? checked(given ?? [], requestFields)
          : await requestsIn(requestsFrom, requestFields);
      const { length: items } = requests;
      const tooMany = itemCountProblem(items);
      if (tooMany !== undefined) throw refused(`${requestsFrom ?? 'requests'}: ${tooMany}`);
      const sha256 = digestOf(requests);
      await claim(requestsKey(batch), { items, sha256 });
      const earlier = doneBefore(await readResults(batch));
      const costs = prices && requests.map((request) => estimateCost(prices, request).estimated);
      return { items, sha256, earlier, ...(costs && { estimated: sumOf(costs) }) };
    }),

    readRequests: failingAs('submit', async (input: ReadRequestsInput): Promise<VideoRequest[]> => {
      const { from, sha256, skip, service } = input;
      const requests = await requestsIn(from, profileFor(service).requestFields);
      if (digestOf(requests) !== sha256)
        throw refused(`${from} has changed since the batch began; start another batch for the new requests`);
      const limits = { most: REQUESTS_AT_ONCE, bytes: REQUEST_BYTES_AT_ONCE };
      return firstThatFit(requests.slice(skip), limits);
    }),

    /** Adds results to the file. A repeated attempt changes nothing. */
    recordResults: failingAs('submit', async (input: RecordResultsInput): Promise<StoredFile> => {
      const startedAtMs = performance.now();
      const { batch, results } = input;
      const key = resultsKey(batch);
      const lines = new Map(
        [...(await readResults(batch)), ...results].map((result) => [result.item, JSON.stringify(result)]),
      );
      const sorted = [...lines].sort(([a], [b]) => a - b).map(([, line]) => `${line}\n`);
      if (performance.now() - startedAtMs > RECORD_WITHIN_MS)
        throw new StorageFault(`reading ${key} took too long`);
      return { key, ...(await storage.write(key, sorted.join(''), 'application/x-ndjson')) };
    }),
  };

  function profileFor(service: string | undefined): ServiceProfile {
    const found = find(service, 'new task');
    if ('problem' in found) throw refused(found.problem);
    return found.service.profile ?? {};
  }

  /** Ties the name to the requests: with other requests, the results would belong to other items. */
  async function claim(key: string, requests: { items: number; sha256: string }): Promise<void> {
    const existing = await read(key, JSON.parse);
    if (existing === undefined) await writeSmallJson(storage, key, requests);
    else if (Object(existing).sha256 !== requests.sha256)
      throw refused(
        `the name was used for other requests, according to ${key} in the storage; start the new requests as another batch, under another name`,
      );
  }

  async function readResults(batch: string): Promise<ItemResult[]> {
    return (await read(resultsKey(batch), parseResults)) ?? [];
  }

  async function requestsIn(key: string, requestFields?: readonly string[]): Promise<VideoRequest[]> {
    // One byte more, so that a file that is too large is seen to be so.
    const content = await read(key, String, LARGEST_REQUESTS_FILE_BYTES + 1);
    if (content === undefined) throw refused(`there is no ${key} in the storage of the worker`);
    const tooLarge = requestsFileProblem(Buffer.byteLength(content));
    if (tooLarge !== undefined) throw refused(`${key}: ${tooLarge}`);
    const parsed = parseRequestLines(content, key, requestFields);
    if (!parsed.ok) throw refused(parsed.problems.join('; '));
    return parsed.requests;
  }

  function checked(given: VideoRequest[], requestFields?: readonly string[]): VideoRequest[] {
    return given.map((one, index) => {
      const parsed = parseRequest(one, requestFields);
      if (!parsed.ok) throw refused(`requests[${index}]: ${parsed.problem}`);
      return parsed.request;
    });
  }

  /** The storage writes complete files, so an operator must have changed one that cannot be parsed. */
  async function read<T>(key: string, parse: (content: string) => T, mostBytes = Number.POSITIVE_INFINITY) {
    const content = await asStorageFault(async () => {
      const stored = await storage.read(key);
      return stored && readUpTo(stored, mostBytes);
    });
    try {
      return content && parse(content.toString('utf8'));
    } catch (error) {
      throw new StorageFault(`${key} is damaged (${error}): repair it, or move it away`, { cause: error });
    }
  }
}

const digestOf = (requests: VideoRequest[]) => hash('sha256', JSON.stringify(requests));

function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}
