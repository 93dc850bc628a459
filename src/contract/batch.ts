import { packItems } from './done-items';
import type { FailureType } from './failure-table';
import type { FailureDetails } from './failures';
import type { CarriedJob, JobOptions, JobProgress, JobResult, TaskStatus } from './job';
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
export type SharedPoll =
  | { status: TaskStatus }
  | { failure: FailureType; details: FailureDetails }
  | 'not-yet';

/** What a batch takes along when it continues as new; the second argument of the workflow, never a caller's. */
export interface CarriedBatch {
  opened?: OpenedBatch;
  next: number;
  succeeded: number;
  failed: number;
  firstFailed?: FailedItem;
  /** Runs so far that began with a reset, or as another try: what came before them is looked for there. */
  resetRuns?: string[];
  running: CarriedItem[];
  /** States that the service named and nobody knows: each is warned of once. */
  warnedWords: string[];
  /** Somebody wants a look now. */
  pollRequested?: boolean;
}

export type FailedItem = Extract<ItemResult, { outcome: 'failed' }>;

/** Its request is not taken along: a submit that is sent once more reads it again from where it came. */
export interface CarriedItem {
  item: number;
  job: Omit<CarriedJob, 'warnedWords'>;
}

/** What was done before under the name of a batch, by the results in the storage. */
export interface EarlierBatch {
  /** Items that are not to be begun again, stored or failed for good, as `packItems` writes them. */
  done: string;
  succeeded: number;
  failed: number;
}

/** Failures that another try would only repeat, or of which nobody knows whether they were paid for. */
const FOR_GOOD: readonly FailureType[] = [
  'InvalidRequest',
  'SubmitUnconfirmed',
  'GenerationFailed',
  'GenerationCancelled',
  'TaskUnknown',
  'VideoTooLarge',
];

/**
 * What is left to do of a batch that ended early. The rest is begun again: a submit under the name of an item that was paid
 * for finds its task by the record of that job in the storage.
 */
export function leftOf(results: ItemResult[]): EarlierBatch {
  const failed = results.filter((result) => result.outcome === 'failed');
  const kept = failed.filter(({ failure }) => FOR_GOOD.includes(failure));
  const stored = results.filter(({ outcome }) => outcome === 'succeeded');
  return {
    done: packItems([...stored, ...kept].map(({ item }) => item)),
    succeeded: stored.length,
    failed: kept.length,
  };
}

/** The requests of a batch as they were when it began, and what is left of them to do. */
export interface OpenedBatch {
  items: number;
  sha256: string;
  earlier: EarlierBatch;
}

export const itemName = (batch: string, item: number) => `${batch}-${item}`;

/** Where a batch's results are in the storage. */
export const resultsKey = (batch: string) => `batches/${folderOf(batch)}/results.jsonl`;

/** Where it says which requests they are the results of. */
export const requestsKey = (batch: string) => `batches/${folderOf(batch)}/requests.json`;

/** Any name as a folder, two names never as the same. File systems allow 255 bytes: what is longer is a folder in it. */
function folderOf(batch: string): string {
  const names = encodeURIComponent(batch).match(/.{1,200}/g) ?? [];
  return names.map((name) => name.replace(/^\./, '%2E')).join('/');
}

/** The results of a batch as they stand in their file, a line each. */
export function parseResults(content: string): ItemResult[] {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line));
}
