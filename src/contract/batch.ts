import type { FailureType } from './failure-table';
import type { FailureDetails } from './failures';
import type { CarriedJob, JobOptions, JobProgress, JobResult, Look } from './job';
import type { VideoRequest } from './request';

/** What one batch is to do: requests here, or in a file of the worker's storage with one of them a line (JSONL). */
export type BatchInput = (
  | { requests: VideoRequest[]; requestsFrom?: never }
  | { requestsFrom: string; requests?: never }
) &
  BatchOptions;

/** What to do when an item fails: go on with the others, or begin no more of them. */
export const ON_FAILURE = ['continue', 'stop'] as const;

export type OnFailure = (typeof ON_FAILURE)[number];

/** What else is said here is said of each item; its deadline runs from when its turn comes. */
export interface BatchOptions extends Omit<JobOptions, 'idempotencyKey'> {
  /** How many items run at a time; 20 unless set. One that waits for a decision does not count. */
  window?: number;
  /** `continue` unless set. */
  onFailure?: OnFailure;
}

/** One line of the results. */
export type ItemResult = { item: number; name: string } & (
  | ({ outcome: 'succeeded' } & JobResult)
  | { outcome: 'failed'; failure: FailureType; message: string; details: FailureDetails }
);

/** The answer of the query `progress` of a batch. */
export interface BatchProgress {
  /** How many there are in all; unknown until the file was read. */
  items?: number;
  succeeded: number;
  failed: number;
  /** Those under way, by their number, which is that of their line without the empty ones. */
  running: ItemProgress[];
  /** Set when no more items are begun. */
  stopping?: string;
}

export interface ItemProgress extends JobProgress {
  item: number;
  name: string;
}

/** What becomes of a batch. What becomes of its items is in a file of the storage, a line each. */
export interface BatchResult {
  items: number;
  succeeded: number;
  failed: number;
  results: StoredFile;
}

export interface StoredFile {
  key: string;
  uri: string;
}

/** What a look that many items shared found of one of them. */
export type SharedLook = { look: Look } | { failure: FailureType; details: FailureDetails } | 'not-yet';

/** What a batch takes along when it continues as new; the second argument of the workflow, never a caller's. */
export interface CarriedBatch {
  file?: RequestFile;
  next: number;
  succeeded: number;
  failed: number;
  firstFailed?: FailedItem;
  running: CarriedItem[];
}

export type FailedItem = Extract<ItemResult, { outcome: 'failed' }>;

export interface CarriedItem {
  item: number;
  request: VideoRequest;
  job: CarriedJob;
}

/** A file of requests as it was when the batch began. */
export interface RequestFile {
  items: number;
  sha256: string;
}

export const itemName = (batch: string, item: number) => `${batch}-${item}`;

/** Where a batch's results are in the storage. */
export const resultsKey = (batch: string) => `batches/${encodeURIComponent(batch)}/results.jsonl`;

/** The results of a batch as they stand in their file, a line each. */
export function parseResults(content: string): ItemResult[] {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line));
}
