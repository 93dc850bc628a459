import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { StoredExtras } from '../contract/extras';
import { keyMaterial } from '../contract/idempotency-key';
import { type JobCost, readCost } from '../contract/job-cost';
import { readChoice, type ServiceChoice } from '../contract/service-choice';
import { fileName, readSmallFile, StorageFault, type VideoStorage, writeSmallJson } from '../storage';

const submittedSchema = z.object({ taskId: z.string() });

const extraSchema = z.object({
  uri: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  contentType: z.string(),
  width: z.number(),
  height: z.number(),
});

/** A record without them is still one: they are made again. */
const extrasSchema = z
  .object({ poster: extraSchema.optional(), 'last-frame': extraSchema.optional() })
  .optional()
  .catch(undefined) satisfies z.ZodType<StoredExtras | undefined>;

const recordSchema = z.discriminatedUnion('state', [
  // The POST that is being sent, or a lost submit. The sender is the activity, in any of its attempts.
  z.object({ state: z.literal('sending'), send: z.string(), sender: z.string(), at: z.string() }),
  // The last POST made no task. The lost submit is an earlier one, which `resubmit` repeated. `unsure` is an answer after
  // which the service may have a task nevertheless, and only it knows the idempotency key.
  z.object({
    state: z.literal('refused'),
    keySent: z.boolean(),
    lostSubmit: z.string().optional(),
    unsure: z.string().optional(),
  }),
  submittedSchema.extend({ state: z.literal('submitted') }),
  submittedSchema.extend({
    state: z.literal('stored'),
    key: z.string(),
    video: z.looseObject({
      uri: z.string(),
      bytes: z.number(),
      sha256: z.string(),
      contentType: z.string(),
      expiresAt: z.string().optional(),
    }),
    warnings: z.array(z.string()),
    storage: z.string().optional(),
    extras: extrasSchema,
  }),
  // The video was kept as long as it was to be. The task stays on record: it is paid, and the service may still have it.
  submittedSchema.extend({ state: z.literal('expired'), expiredAt: z.string() }),
  // Somebody had the job forgotten. Nothing of it is here, and nothing is paid again under its name and request.
  z.object({ state: z.literal('forgotten'), at: z.string() }),
]);

const fileSchema = z
  .object({
    namespace: z.string().optional().catch(undefined),
    job: z.string().optional().catch(undefined),
    request: z.record(z.string(), z.unknown()).optional(),
    service: z.string().optional().catch(undefined),
    submittedAt: z.string().optional().catch(undefined),
    cost: z.unknown().transform(readCost).optional(),
    submitWarnings: z.array(z.string()).optional().catch(undefined),
    choice: z.unknown().transform(readChoice).optional(),
    keySentTo: z.array(z.string()).optional().catch(undefined),
  })
  .and(recordSchema);

/** What a record says about the service and the bill, also for `videogen spend` when Temporal has forgotten the job. */
export interface RecordedFacts {
  /** The named service that got the last request, if it has a name on the worker. */
  choice?: ServiceChoice | undefined;
  /** Other services that may have received the idempotency key, before the job went on to this one. */
  keySentTo?: string[] | undefined;
  /** The name of the service that is paid. */
  service?: string | undefined;
  /** When the last request was sent: ISO 8601. */
  submittedAt?: string | undefined;
  cost?: JobCost | undefined;
  /** What the service cannot do of the request, a sentence each, for the result of the job. */
  submitWarnings?: string[] | undefined;
}

/** How far a job has come, as recorded in the storage. */
export type JobRecord = z.infer<typeof recordSchema>;

export type StoredRecord = Extract<JobRecord, { state: 'stored' }>;

/** A record with what is beside it in its file. */
export type JobRecordContent = z.infer<typeof fileSchema>;

/** A job in a storage that several namespaces may share. */
export interface JobName {
  namespace: string;
  job: string;
}

/** Its files are one for each name and request. Others are there too, such as the learned times. */
export const RECORD_FOLDER = 'jobs/';
const ID_DIGITS = 16;

/** Identifies a job by its namespace, name and request: the same in every attempt and every run. */
export function digestOfJob({ namespace, job }: JobName, request: object): string {
  return createHash('sha256')
    .update(keyMaterial(namespace, job, request))
    .digest('hex');
}

/** Tells the records of a job apart: its name may have been used for several requests. */
export const recordId = (digest: string) => digest.slice(0, ID_DIGITS);

export const recordKey = (job: string, id: string) => `${RECORD_FOLDER}${fileName(job)}.${id}.json`;

const RECORD_KEY = new RegExp(`^${RECORD_FOLDER}([^/]+)[.]([0-9a-f]{${ID_DIGITS}})[.]json$`);

/** The file name of the job and the id of the record; undefined for a file that is not a record. */
export function readRecordKey(key: string): { name: string; id: string } | undefined {
  const [, name, id] = RECORD_KEY.exec(key) ?? [];
  return name === undefined || id === undefined ? undefined : { name, id };
}

/** The file of a record is not one. */
export class DamagedRecord extends StorageFault {}

export async function readRecord(
  storage: Pick<VideoStorage, 'read'>,
  key: string,
): Promise<JobRecordContent | undefined> {
  const content = await readSmallFile(storage, key);
  if (content === undefined) return undefined;
  try {
    return fileSchema.parse(JSON.parse(content));
  } catch (error) {
    throw new DamagedRecord(
      `${key} in the storage is damaged and may name a paid task: repair it, or delete it if there is no such task`,
      { cause: error },
    );
  }
}

export function writeRecord(
  storage: Pick<VideoStorage, 'write'>,
  key: string,
  record: JobName & { request?: Record<string, unknown> | undefined } & RecordedFacts & JobRecord,
): Promise<void> {
  return writeSmallJson(storage, key, record);
}

/** What stays of a forgotten job: no request, no task, no video. Its key has the name and a digest. */
export function writeForgotten(
  storage: Pick<VideoStorage, 'write'>,
  key: string,
  { namespace }: Pick<JobName, 'namespace'>,
): Promise<void> {
  return writeSmallJson(storage, key, { namespace, state: 'forgotten', at: new Date().toISOString() });
}
