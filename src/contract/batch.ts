import type { Cap } from './caps';
import { fileName } from './digest';
import type { FailureDetails, ServiceRefusal } from './failure-details';
import { FAILURES, type FailureType, paidNothing } from './failure-table';
import {
  FALLBACK_FIELDS,
  type FieldRule,
  type FieldRules,
  fieldProblems,
  isFileKey,
  JOB_FIELDS,
  oneOf,
} from './input-rules';
import type { FallbackInput, JobInput, JobOptions, JobResult } from './job';
import { type BatchCost, chargesOf, type JobCost, readCost } from './job-cost';
import { type MoneySum, sumOf } from './money';
import type { VideoRequest } from './request';
import { choiceProblem } from './service-choice';
import { MOST_ITEMS } from './sizes';

/**
 * The input of a batch: the requests themselves, or the key of a JSONL file in the worker's storage with one request per
 * line.
 */
export type BatchInput = (
  | { requests: VideoRequest[]; requestsFrom?: never }
  | { requestsFrom: string; requests?: never }
) &
  BatchOptions;

/** What a batch does when an item fails: `continue` with the rest, or `stop` starting new items. */
const ON_FAILURE = ['continue', 'stop'] as const;

/** The options of a job apply to each item. The deadline of an item runs from its own start. */
export interface BatchOptions
  extends Omit<JobOptions, 'idempotencyKey' | 'callbackUrl' | 'cap' | 'submitWithin' | 'sharedCap'>,
    Partial<Pick<FallbackInput, 'services' | 'fallbackAfter'>> {
  /** How much all items together may take. The batch stops at the first item that it does not allow. */
  cap?: Cap;
  /** How many items run at the same time; 20 by default. Items that wait for a decision do not count. */
  window?: number;
  /** `continue` by default. */
  onFailure?: (typeof ON_FAILURE)[number];
}

const WIDEST_WINDOW = 500;

/** The rules of the fields that only a batch has. */
const BATCH_FIELDS = {
  requests: {
    accepts: (value) => Array.isArray(value) && value.length > 0,
    sentence: 'must be a list of at least one request',
  },
  requestsFrom: {
    accepts: isFileKey,
    sentence: 'must be the key of a file inside the storage, such as "batches/foxes.jsonl"',
  },
  window: {
    accepts: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= WIDEST_WINDOW,
    sentence: `must be a whole number from 1 to ${WIDEST_WINDOW}`,
  },
  onFailure: oneOf(ON_FAILURE),
} satisfies Record<Exclude<keyof BatchInput, keyof JobInput | keyof FallbackInput>, FieldRule>;

/** The options of a single job, which would be wrong for all items of a batch. */
const NOT_IN_BATCHES = ['idempotencyKey', 'callbackUrl', 'submitWithin', 'sharedCap'];

const OPTIONS_OF_ITEMS = Object.entries({ ...JOB_FIELDS, ...FALLBACK_FIELDS }).filter(
  ([name]) => name !== 'taskId' && !NOT_IN_BATCHES.includes(name),
);
const ALL_BATCH_FIELDS: FieldRules = { ...BATCH_FIELDS, ...Object.fromEntries(OPTIONS_OF_ITEMS) };

/** What is wrong with the input of a batch, its requests apart. Callers name an owner and workflows do not. */
export function batchProblems(input: Partial<Record<string, unknown>>, owner?: 'a batch'): string[] {
  const { requests, requestsFrom, storage } = input;
  const foreign = NOT_IN_BATCHES.find((name) => input[name] != null);
  if (foreign !== undefined) return [`${foreign} is for a single job, not for a batch`];
  const wrong = fieldProblems(input, ALL_BATCH_FIELDS, owner);
  if (wrong.length > 0) return wrong;
  if ((requests == null) === (requestsFrom == null))
    return ['a batch needs either requests or requestsFrom, not both'];
  if (storage != null && !/\/$|\{(workflowId|taskId)\}/.test(String(storage)))
    return [
      'storage must end with / or contain {workflowId} or {taskId}, so that each video has its own key',
    ];
  return [choiceProblem(input) ?? []].flat();
}

/** The result of one item: one line of the results file. */
export type ItemResult = { item: number; name: string } & (
  | ({ outcome: 'succeeded' } & JobResult)
  | {
      outcome: 'failed';
      failure: FailureType;
      message: string;
      details: FailureDetails;
      cost?: JobCost;
      /** Which of the batch's `services` made no task, in order. */
      refusedBy?: ServiceRefusal[];
    }
);

/** The answer to the query `progress` of a batch. */
export interface BatchProgress {
  /** The number of items; unknown until the requests file has been read. */
  items?: number;
  succeeded: number;
  failed: number;
  /** The items in progress. */
  running: ItemProgress[];
  /** Why the batch starts no more items, if it does not. */
  stopping?: string;
  /** What the batch costs, if anything is known about it. */
  cost?: BatchCost;
}

/** An item of a batch that runs: a job of its own, which says its own progress. */
export interface ItemProgress {
  /** The number of the item: its position among the requests, from 1, not counting empty lines. */
  item: number;
  /** The name of its job. */
  name: string;
  /** It waits for a decision. */
  isHeld?: boolean;
}

/** The result of a batch. The results of its items are in a file in the storage, one line per item. */
export interface BatchResult extends Pick<BatchProgress, 'succeeded' | 'failed' | 'cost'> {
  items: number;
  results: StoredFile;
}

/** A file in the storage. */
export interface StoredFile {
  key: string;
  uri: string;
}

export type FailedItem = Extract<ItemResult, { outcome: 'failed' }>;

/** What earlier runs under the name of a batch have done, according to the results in the storage. */
export interface EarlierBatch {
  /** Which items are not started again, because they are stored or failed for good: a 1 or a 0 for each, up to the last. */
  done: string;
  succeeded: number;
  failed: number;
  /** What those items cost. */
  spent: MoneySum;
}

/**
 * Which items need not be started again. An item that is started again and was paid for before finds its task in the
 * record of its job in the storage.
 */
export function doneBefore(results: ItemResult[]): EarlierBatch {
  const failed = results.filter((result) => result.outcome === 'failed');
  const failedForGood = failed.filter(({ failure }) => FAILURES[failure].isFinal);
  const stored = results.filter(({ outcome }) => outcome === 'succeeded');
  const done = [...stored, ...failedForGood];
  const isDone: boolean[] = [];
  // Anybody may have changed the file.
  for (const { item } of done) if (item <= MOST_ITEMS) isDone[item - 1] = true;
  return {
    done: Array.from(isDone, (one) => (one ? '1' : '0')).join(''),
    succeeded: stored.length,
    failed: failedForGood.length,
    spent: spentOn(done),
  };
}

/** What items cost. Those that were never submitted cost nothing. */
export function spentOn(results: readonly ItemResult[]): MoneySum {
  const charges = results.flatMap((result) => {
    const cost = readCost(result.cost);
    const hasTask = result.outcome === 'succeeded' || result.details.taskId !== undefined;
    const mayBePaid = hasTask || !paidNothing(result.failure) || cost?.lostSubmits !== undefined;
    return mayBePaid ? chargesOf(cost, hasTask) : [];
  });
  return sumOf(charges);
}

/** A batch whose requests have been read and checked. */
export interface OpenedBatch {
  items: number;
  /** The digest of the requests: a batch never continues with other requests. */
  sha256: string;
  earlier: EarlierBatch;
  /** What all items cost by the prices of the profile, if it has any. */
  estimated?: MoneySum;
}

/** The name of an item, which is a job, such as `foxes-3`. */
export const itemName = (batch: string, item: number) => `${batch}-${item}`;

/** The storage key of the results of a batch, such as `batches/foxes/results.jsonl`. */
export const resultsKey = (batch: string) => `batches/${fileName(batch)}/results.jsonl`;

/** The storage key of the file that says which requests the results belong to. */
export const requestsKey = (batch: string) => `batches/${fileName(batch)}/requests.json`;

/**
 * Parses a results file of a batch.
 *
 * @example
 * ```ts
 * const failed = parseResults(content).filter(({ outcome }) => outcome === 'failed');
 * ```
 */
export function parseResults(content: string): ItemResult[] {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line));
}
