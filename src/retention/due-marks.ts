import { createHash } from 'node:crypto';
import { z } from 'zod';
import { EXTRA_NAMES, type ExtraName } from '../contract/extras';
import { isVideoKey } from '../contract/input-rules';
import { readSmallFile, writeSmallJson } from '../storage';
import type { JobName } from './job-records';
import type { RemovingStorage } from './removing-storage';

/** A video that expires. */
export interface DueVideo extends JobName {
  key: string;
  /** Whole seconds, as `expiryOf` makes it. */
  expiresAt: string;
  /** The id of the job's record; an adopted task has none. */
  record?: string | undefined;
  /** The pictures beside it, which go with it. */
  extras?: readonly ExtraName[] | undefined;
}

/** A mark may come from anywhere: it must not name a record. */
const dueSchema = z.object({
  namespace: z.string(),
  job: z.string(),
  key: z.string().refine(isVideoKey),
  expiresAt: z.iso.datetime(),
  record: z.string().optional(),
  extras: z.array(z.enum(EXTRA_NAMES)).optional(),
});

const FOLDER = 'jobs/expiry/';
const MARK = /^jobs\/expiry\/(\d{4}-\d\d-\d\d)\/T(\d\d)(\d\d)(\d\d)-[0-9a-f]{32}\.json$/;

/** When a video expires that is stored now. */
export function expiryOf(keepForMs: number, nowMs: number): string {
  return new Date(Math.ceil((nowMs + keepForMs) / 1_000) * 1_000).toISOString();
}

/**
 * The file that says when a video expires. Its name begins with the date, so that the janitor finds what is due by listing the
 * first names, however many videos there are: no record is read, and no mark that is not due.
 */
export function dueKey({ namespace, job, key, expiresAt }: DueVideo): string {
  const digest = createHash('sha256').update([namespace, job, key].join('\0')).digest('hex').slice(0, 32);
  const [date = '', time = ''] = expiresAt.split('T');
  return `${FOLDER}${date}/T${time.slice(0, 8).replaceAll(':', '')}-${digest}.json`;
}

export function writeDue(storage: RemovingStorage, due: DueVideo): Promise<void> {
  const { namespace, job, key, expiresAt, record, extras } = due;
  return writeSmallJson(storage, dueKey(due), { namespace, job, key, expiresAt, record, extras });
}

/** The files of what has expired by then, the oldest first. */
export async function* dueBefore(
  storage: RemovingStorage,
  nowMs: number,
): AsyncGenerator<string, void, undefined> {
  for await (const { key: file } of storage.list(FOLDER)) {
    const [, date, hours, minutes, seconds] = MARK.exec(file) ?? [];
    if (date === undefined) continue;
    if (Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`) > nowMs) return;
    yield file;
  }
}

/** Undefined when another janitor has removed it. */
export async function readDue(storage: RemovingStorage, file: string): Promise<DueVideo | undefined> {
  const content = await readSmallFile(storage, file);
  return content === undefined ? undefined : dueSchema.parse(JSON.parse(content));
}
