import { activityInfo } from '@temporalio/activity';
import type { StoredExtras } from '../src/contract/extras';
import type { StoredVideo } from '../src/contract/job';
import type { VideoRequest } from '../src/contract/request';
import type { ServiceChoice } from '../src/contract/service-choice';
import {
  digestOfJob,
  type JobRecord,
  type RecordedFacts,
  readRecord,
  recordId,
  recordKey,
  type StoredRecord,
  writeRecord,
} from '../src/retention';
import type { VideoStorage } from '../src/storage';
import { logEvent } from './log-event';
import { requestOnRecord } from './request-on-record';

export type { JobRecord, StoredRecord } from '../src/retention';

/** A task id is worth a second try: without it, the task is lost once Temporal deletes the history. */
const WRITE_TASK_ATTEMPTS = 2;

/**
 * The record of a job in the storage, outside Temporal. A job with the same name and the same request finds its task, its
 * lost submit or its video here, even after Temporal deleted the history or a reset started it again.
 */
export class JobRecordFile {
  /** The request as it is written to files: of a new record, or of one that was read. */
  requestOnRecord: Record<string, unknown> | undefined;
  /** Of a record that was read, or for the next write. */
  facts: RecordedFacts = {};

  private constructor(
    private readonly storage: VideoStorage,
    readonly job: string,
    /** Tells the records of a job apart: its name may have been used for several requests. */
    readonly id: string,
  ) {}

  get key(): string {
    return recordKey(this.job, this.id);
  }

  /** The record of a job that is about to submit; `digest` is its `jobDigest`. */
  static of(
    storage: VideoStorage,
    {
      job,
      request,
      digest,
      image,
    }: { job: string; request: VideoRequest; digest: string; image?: string | undefined },
  ): JobRecordFile {
    const file = new JobRecordFile(storage, job, recordId(digest));
    file.requestOnRecord = requestOnRecord(request, image);
    return file;
  }

  /** The record whose id the submit returned. */
  static withId(storage: VideoStorage, { job, id }: { job: string; id: string }): JobRecordFile {
    return new JobRecordFile(storage, job, id);
  }

  async read(): Promise<JobRecord | undefined> {
    const found = await readRecord(this.storage, this.key);
    if (found === undefined) return undefined;
    const {
      namespace: _,
      job: __,
      request,
      service,
      submittedAt,
      cost,
      choice,
      submitWarnings,
      keySentTo,
      ...record
    } = found;
    this.requestOnRecord ??= request;
    this.facts = { service, submittedAt, cost, choice, submitWarnings, keySentTo };
    return record;
  }

  /** Before the POST: a reader that finds only this knows that a task may exist. */
  async writeSending(send: string): Promise<void> {
    const at = new Date().toISOString();
    this.facts = { ...this.facts, submittedAt: at };
    await this.write({ state: 'sending', send, sender: sender(), at });
  }

  /** No task was made. If this cannot be written, the heartbeat of the attempt still says so. */
  async writeRefused(refused: Omit<Extract<JobRecord, { state: 'refused' }>, 'state'>): Promise<void> {
    await this.write({ state: 'refused', ...refused }).catch((error: unknown) => this.warn(error));
  }

  /** Temporal has the task too. If this cannot be written, the record stays at `sending`: held, and never repeated. */
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

  /** A later job of this name and request finds them, and whoever forgets the job removes them. */
  async writeExtras(stored: StoredRecord, extras: StoredExtras): Promise<void> {
    await this.write({ ...stored, extras: { ...stored.extras, ...extras } });
  }

  private async write(record: JobRecord): Promise<void> {
    const { namespace } = activityInfo();
    const named = { namespace, job: this.job, request: this.requestOnRecord };
    await writeRecord(this.storage, this.key, { ...named, ...this.facts, ...record });
  }

  private warn(error: unknown, taskId?: string): void {
    logEvent('recordNotWritten', {
      taskId,
      record: this.key,
      error: String(error),
    });
  }
}

/** Identifies this activity: the same in all its attempts, different for each submit of a run. */
function sender(): string {
  const { workflowExecution, activityId, scheduledTimestampMs } = activityInfo();
  return [workflowExecution?.runId ?? '', activityId, scheduledTimestampMs].join('/');
}

export interface KnownSends {
  /** The POST that made no task according to a heartbeat, even if the record does not say so. */
  sendWithoutTask: string | undefined;
  /** Whether an operator has decided about everything that was sent before this activity started. */
  isDecided: boolean;
}

/** Why a submit of this job is lost, according to its record; undefined when none is. */
export function lostSubmitIn(
  record: JobRecord | undefined,
  { sendWithoutTask, isDecided }: KnownSends,
): string | undefined {
  if (record?.state === 'refused') return isDecided ? undefined : record.lostSubmit;
  if (record?.state !== 'sending') return undefined;
  const isOwn = record.sender === sender();
  if (record.send === sendWithoutTask || (isDecided && !isOwn)) return undefined;
  return `a request was sent at ${record.at} and its answer is not on record`;
}

/** An answer after which a task may exist, and whether another service than the one that is asked now gave it. */
export function unsureIn(
  record: JobRecord | undefined,
  { choice }: RecordedFacts,
  asked: ServiceChoice | undefined,
): { here?: string | undefined; elsewhere?: string | undefined } {
  const unsure = record?.state === 'refused' ? record.unsure : undefined;
  return isOther(choice, asked) ? { elsewhere: unsure } : { here: unsure };
}

/** Whether the service may have received the idempotency key of this job. Each of several services has its own. */
export function mayKnowKey(
  record: JobRecord | undefined,
  { choice, keySentTo = [] }: RecordedFacts,
  asked: ServiceChoice | undefined,
): boolean {
  if (record === undefined) return false;
  if (asked !== undefined && keySentTo.includes(asked.name)) return true;
  return !isOther(choice, asked) && hasSentKey(record);
}

/** The other services that may have received it, for the next record; undefined when there are none. */
export function othersWithKey(
  record: JobRecord | undefined,
  { choice, keySentTo = [] }: RecordedFacts,
  asked: ServiceChoice | undefined,
): string[] | undefined {
  const last = record && choice && isOther(choice, asked) && hasSentKey(record) ? [choice.name] : [];
  const all = new Set([...keySentTo, ...last]);
  return all.size > 0 ? [...all] : undefined;
}

/** A record without a choice may be of any service. */
function isOther(choice: ServiceChoice | undefined, asked: ServiceChoice | undefined): boolean {
  return choice !== undefined && asked !== undefined && choice.name !== asked.name;
}

const hasSentKey = (record: JobRecord) => record.state !== 'refused' || record.keySent;

/** Identifies a job by its namespace, name and request: the same in every attempt and every run. */
export function jobDigest(job: string, request: VideoRequest): string {
  return digestOfJob({ namespace: activityInfo().namespace, job }, request);
}
