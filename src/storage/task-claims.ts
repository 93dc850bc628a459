import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { EntryLog } from './entry-log';
import type { VideoStorage } from './storage';

/** A task, where it is. */
export interface TaskName {
  taskId: string;
  /** The named service that has it: polls and the download ask it, whatever the worker's default becomes. */
  service?: string | undefined;
}

const claimSchema = z.object({
  id: z.string().min(1),
  namespace: z.string(),
  job: z.string(),
  /** Where the job's record is. */
  record: z.string().optional(),
  /** Whose job it is. */
  caller: z.string().optional(),
  at: z.string(),
});

/** The claim of the job that has a task. */
export type TaskClaim = z.infer<typeof claimSchema>;

/** The job that has a task. */
export type TaskOwner = Omit<TaskClaim, 'id' | 'at'>;

/**
 * Gives a task to a job, unless another job has it, whose claim it returns. A job that has it already keeps it. `replaced` is the claim of a job that
 * the caller found to have ended without its video: of several that take the task over from it, one gets it.
 */
export async function claimTask(
  storage: Pick<VideoStorage, 'read' | 'create'>,
  { service = '', taskId }: TaskName,
  owner: TaskOwner,
  replaced?: TaskClaim,
): Promise<TaskClaim | undefined> {
  // The ids are the service's, and may have any characters.
  const digest = hash('sha256', JSON.stringify([service, taskId]));
  const log = new EntryLog(storage, `tasks/${digest}.`, (value) => claimSchema.safeParse(value).data);
  const { namespace, job } = owner;
  const own = { id: randomUUID(), ...owner, at: new Date().toISOString() };
  for (let claims: TaskClaim[] = []; ; ) {
    ({ entries: claims } = await log.append(own, claims));
    const last = claims.at(-1) ?? own;
    if (last.namespace === namespace && last.job === job) return undefined;
    if (last.id !== replaced?.id) return last;
  }
}
