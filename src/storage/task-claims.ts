import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { EntryLog } from './entry-log';
import type { VideoStorage } from './storage';

/** A task of a service. */
export interface TaskName {
  /** The name of the service, if it has one on the worker. */
  service?: string | undefined;
  taskId: string;
}

/** The job that has a task. */
export interface TaskOwner {
  namespace: string;
  job: string;
  /** Where the job's record is. */
  record?: string | undefined;
  /** Whose job it is. */
  caller?: string | undefined;
}

/** The job that has a task, by the claim that it made. */
export interface TaskHolder extends TaskOwner {
  claim: string;
}

/** Whether the job has the task now, or which job has it. */
export type Claim = { claimed: true } | { claimed: false; by: TaskHolder };

const entrySchema = z.object({
  id: z.string().min(1),
  namespace: z.string(),
  job: z.string(),
  record: z.string().optional(),
  caller: z.string().optional(),
  at: z.string(),
});
type ClaimEntry = z.infer<typeof entrySchema>;

type ClaimStorage = Pick<VideoStorage, 'read' | 'create'>;

/** Gives a task to a job, unless another job has it. A job that has it already keeps it. */
export function claimTask(storage: ClaimStorage, task: TaskName, owner: TaskOwner): Promise<Claim> {
  return claim(storage, task, owner, undefined);
}

/**
 * The same, also if the task belongs to `from`, whose job the caller found to have ended without its video. Of several
 * that take it over, one gets it.
 */
export function takeOverTask(
  storage: ClaimStorage,
  task: TaskName,
  owner: TaskOwner,
  from: TaskHolder,
): Promise<Claim> {
  return claim(storage, task, owner, from.claim);
}

async function claim(
  storage: ClaimStorage,
  task: TaskName,
  owner: TaskOwner,
  replaced: string | undefined,
): Promise<Claim> {
  const log = claimsOf(storage, task);
  let entries = await log.read();
  for (;;) {
    const holder = holderIn(entries);
    if (holder !== undefined && isSameJob(holder, owner)) return { claimed: true };
    if (holder !== undefined && holder.claim !== replaced) return { claimed: false, by: holder };
    ({ entries } = await log.append(newEntry(owner), entries));
  }
}

/** The ids are the service's, and may have any characters. */
function claimsOf(storage: ClaimStorage, { service = '', taskId }: TaskName): EntryLog<ClaimEntry> {
  const digest = createHash('sha256')
    .update(JSON.stringify([service, taskId]))
    .digest('hex');
  return new EntryLog(storage, `tasks/${digest}`, (value) => entrySchema.safeParse(value).data);
}

function holderIn(entries: readonly ClaimEntry[]): TaskHolder | undefined {
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  const { id: claim, namespace, job, record, caller } = last;
  return {
    namespace,
    job,
    ...(record !== undefined && { record }),
    ...(caller !== undefined && { caller }),
    claim,
  };
}

function isSameJob(one: TaskOwner, other: TaskOwner): boolean {
  return one.namespace === other.namespace && one.job === other.job;
}

function newEntry({ namespace, job, record, caller }: TaskOwner): ClaimEntry {
  return { id: randomUUID(), namespace, job, record, caller, at: new Date().toISOString() };
}
