import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { activityInfo, log } from '@temporalio/activity';
import { z } from 'zod';
import type { StoredVideo } from '../src/contract/job';
import { RECORD_IO_MS } from '../src/contract/policies';
import type { VideoRequest } from '../src/contract/request';
import { asStorageFault, StorageFault, type VideoStorage } from '../src/storage';
import { fileName } from './download/storage-key';
import { requestOnRecord } from './request-on-record';

/** A task that nobody can write down is lost once Temporal forgets it, so it is worth a few tries. */
const WRITE_TASK_ATTEMPTS = 2;

const submittedSchema = z.object({ taskId: z.string() });

const recordSchema = z.discriminatedUnion('state', [
  // A POST left, and how it was answered is not known. The sender is the activity, whichever its attempt.
  z.object({ state: z.literal('sending'), send: z.string(), sender: z.string(), at: z.string() }),
  // It made no task; one that was lost before it, and followed by it because `resubmit` was chosen, may have.
  z.object({ state: z.literal('refused'), keySent: z.boolean(), lostBefore: z.string().optional() }),
  submittedSchema.extend({ state: z.literal('submitted') }),
  submittedSchema.extend({
    state: z.literal('stored'),
    key: z.string(),
    video: z.looseObject({ uri: z.string(), bytes: z.number(), sha256: z.string(), contentType: z.string() }),
    warnings: z.array(z.string()),
    storage: z.string().optional(),
  }),
]);

const fileSchema = z.object({ request: z.record(z.string(), z.unknown()).optional() }).and(recordSchema);

/** How far one job has come, as the storage knows it. */
export type JobRecord = z.infer<typeof recordSchema>;

export type StoredRecord = Extract<JobRecord, { state: 'stored' }>;

/**
 * What was paid for, on record outside Temporal: a job under the same name for the same request finds its task, its
 * lost submit or its video here when Temporal has forgotten it, or was made to begin anew.
 */
export class JobRecordFile {
  private request: Record<string, unknown> | undefined;

  private constructor(
    private readonly storage: VideoStorage,
    private readonly job: string,
    /** Which of the records of a job it is: a name may have been used for several requests. */
    readonly id: string,
  ) {}

  get key(): string {
    return `jobs/${fileName(this.job)}.${this.id}.json`;
  }

  /** Of a job that is about to submit. */
  static of(storage: VideoStorage, { job, request }: { job: string; request: VideoRequest }): JobRecordFile {
    const file = new JobRecordFile(storage, job, digestOf(job, request).slice(0, 16));
    file.request = requestOnRecord(request);
    return file;
  }

  /** As a submit has named it to the download. */
  static named(storage: VideoStorage, { job, id }: { job: string; id: string }): JobRecordFile {
    return new JobRecordFile(storage, job, id);
  }

  async read(): Promise<JobRecord | undefined> {
    const content = await inTime(async () => {
      const stored = await this.storage.read(this.key);
      return stored && readSmallText(stored);
    });
    if (content === undefined) return undefined;
    const { request, ...record } = parse(this.key, content);
    this.request ??= request;
    return record;
  }

  /** The request as it may lie in files; of a record that was read, or is about to be written. */
  get requestOnRecord(): Record<string, unknown> | undefined {
    return this.request;
  }

  /** Before the POST: whoever finds only this knows that a task may exist. */
  async writeSending(send: string): Promise<void> {
    await this.write({ state: 'sending', send, sender: sender(), at: new Date().toISOString() });
  }

  /** No task was made. If it cannot be written, the note of the attempt still says so. */
  async writeRefused(refused: { keySent: boolean; lostBefore: string | undefined }): Promise<void> {
    await this.write({ state: 'refused', ...refused }).catch((error: unknown) => this.warn(error));
  }

  /** Temporal has the task as well; a record that cannot be written leaves the send, which is held and not repeated. */
  async writeTask(taskId: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.write({ state: 'submitted', taskId });
      } catch (error) {
        if (attempt < WRITE_TASK_ATTEMPTS) continue;
        return this.warn(error, taskId);
      }
    }
  }

  async writeStored(stored: Omit<StoredRecord, 'state' | 'video'> & { video: StoredVideo }): Promise<void> {
    const { video, ...rest } = stored;
    await this.write({ state: 'stored', ...rest, video: { ...video } }).catch((error: unknown) =>
      this.warn(error, stored.taskId),
    );
  }

  private async write(record: JobRecord): Promise<void> {
    const { namespace } = activityInfo();
    const content = { namespace, job: this.job, request: this.request, ...record };
    await inTime(() =>
      this.storage.write(this.key, `${JSON.stringify(content, undefined, 2)}\n`, 'application/json'),
    );
  }

  private warn(error: unknown, taskId?: string): void {
    log.warn('the record of the job could not be written', {
      taskId,
      record: this.key,
      error: String(error),
    });
  }
}

/** This activity: the same for all its attempts, and another one for each submit of a run. */
function sender(): string {
  const { workflowExecution, activityId, scheduledTimestampMs } = activityInfo();
  return [workflowExecution?.runId ?? '', activityId, scheduledTimestampMs].join('/');
}

export interface KnownOfSends {
  /** The send of which a note says that it made no task, whether or not that could be written here. */
  settledSend: string | undefined;
  /** What the notes of earlier attempts of this activity tell: of the last one, or of one before it. */
  noted: string | undefined;
  /** Whether somebody has decided on whatever was sent before this activity began. */
  isSettled: boolean;
}

/** Why a POST of this job may have made a task that is not on record; undefined when none has. */
export function lostSend(
  record: JobRecord | undefined,
  { noted, settledSend, isSettled }: KnownOfSends,
): string | undefined {
  if (noted !== undefined) return noted;
  if (record?.state === 'refused') return isSettled ? undefined : record.lostBefore;
  if (record?.state !== 'sending') return undefined;
  const isOwn = record.sender === sender();
  if (record.send === settledSend || (isSettled && !isOwn)) return undefined;
  return `a request was sent at ${record.at} and its answer is not on record`;
}

/** Whether the service may have seen the idempotency key of this job. */
export function keyMayBeKnown(record: JobRecord | undefined): boolean {
  return record !== undefined && (record.state !== 'refused' || record.keySent);
}

/** The same for every attempt and every run of one job: its name and what it is for, never the run. */
export function digestOf(job: string, request: VideoRequest): string {
  const fields = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  const whole = JSON.stringify([activityInfo().namespace, job, fields]);
  return createHash('sha256').update(whole).digest('hex');
}

function parse(key: string, content: string) {
  try {
    return fileSchema.parse(JSON.parse(content));
  } catch (error) {
    throw new StorageFault(
      `${key} in the storage is damaged, and it may tell of a task that is paid for: correct it, or delete it if there is none`,
      { cause: error },
    );
  }
}

/** Records and sidecars are a few kilobytes; no more than this is read of what stands in their place. */
const LARGEST_SMALL_FILE_BYTES = 1024 * 1024;

/** Whoever waits for a storage that does not answer holds a place, a rate limit and a shutdown up. */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fault = new StorageFault(`no answer within ${RECORD_IO_MS / 1_000} s`);
    timer = setTimeout(() => reject(fault), RECORD_IO_MS);
  });
  const worked = asStorageFault(work);
  // It may still fail when nobody listens any more.
  worked.catch(() => undefined);
  return Promise.race([worked, late]).finally(() => clearTimeout(timer));
}

/** The beginning of a file that is too large: its reader finds that it is not whole. */
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
