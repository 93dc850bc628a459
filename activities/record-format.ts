import type { Readable } from 'node:stream';
import { z } from 'zod';
import { type JobCost, readCost } from '../src/contract/job-cost';
import { fileName } from './download/storage-key';

/** The files under `jobs/`: one for each name and request. */
export const RECORDS_FOLDER = 'jobs/';

const RECORD_KEY = /^jobs\/.+\.[0-9a-f]{16}\.json$/;

/** Other files are there too, such as the learned times. */
export const isRecordKey = (key: string) => RECORD_KEY.test(key);

export function recordKey(job: string, id: string): string {
  return `${RECORDS_FOLDER}${fileName(job)}.${id}.json`;
}

const submittedSchema = z.object({ taskId: z.string() });

const recordSchema = z.discriminatedUnion('state', [
  // The POST that is being sent, or a lost submit. The sender is the activity, in any of its attempts.
  z.object({ state: z.literal('sending'), send: z.string(), sender: z.string(), at: z.string() }),
  // The last POST made no task. The lost submit is an earlier one, which `resubmit` repeated.
  z.object({ state: z.literal('refused'), keySent: z.boolean(), lostSubmit: z.string().optional() }),
  submittedSchema.extend({ state: z.literal('submitted') }),
  submittedSchema.extend({
    state: z.literal('stored'),
    key: z.string(),
    video: z.looseObject({ uri: z.string(), bytes: z.number(), sha256: z.string(), contentType: z.string() }),
    warnings: z.array(z.string()),
    storage: z.string().optional(),
  }),
]);

const fileSchema = z
  .object({
    namespace: z.string().optional().catch(undefined),
    job: z.string().optional().catch(undefined),
    request: z.record(z.string(), z.unknown()).optional(),
    service: z.string().optional().catch(undefined),
    submittedAt: z.string().optional().catch(undefined),
    cost: z.unknown().optional(),
  })
  .and(recordSchema);

/** What a record says about the bill, for `videogen spend` when Temporal has forgotten the job. */
export interface RecordedFacts {
  /** The name of the service that is paid. */
  service?: string | undefined;
  /** When the last request was sent: ISO 8601. */
  submittedAt?: string | undefined;
  cost?: JobCost | undefined;
}

/** How far a job has come, as recorded in the storage. */
export type JobRecord = z.infer<typeof recordSchema>;

export type StoredRecord = Extract<JobRecord, { state: 'stored' }>;

/** What a file of a record says. */
export interface ParsedRecord {
  /** Whose record it is. */
  namespace?: string | undefined;
  job?: string | undefined;
  request?: Record<string, unknown> | undefined;
  facts: RecordedFacts;
  record: JobRecord;
}

/** Throws when the text is not a record. */
export function parseRecord(content: string): ParsedRecord {
  const { namespace, job, request, service, submittedAt, cost, ...record } = fileSchema.parse(
    JSON.parse(content),
  );
  return { namespace, job, request, facts: { service, submittedAt, cost: readCost(cost) }, record };
}

/** Records and sidecars have a few kilobytes; a larger file under their key is not one of them. */
const LARGEST_SMALL_FILE_BYTES = 1024 * 1024;

/** Cuts a file that is too large, so that its reader finds it incomplete. */
export async function readSmallText(stored: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stored) {
    bytes += chunk.length;
    if (bytes > LARGEST_SMALL_FILE_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
