import type { WorkflowExecutionDescription } from '@temporalio/client';
import { isLocalQueue, localQueuePrefix, readTaskQueue } from '../config/queues';
import { printableJson, shown } from '../contract/clean-text';
import { SERVICE_MEMO } from '../contract/names';
import { devCommand } from './commands';
import { EXIT } from './exit-codes';
import { type FollowedJob, showProgress } from './live-view';
import { type JobsSession, pageOf } from './open-jobs';
import { printLine, type Terminal } from './terminal';

/** The memo that records where the videos of a job or batch go. */
export const STORAGE_MEMO = 'storage';

/** Where a command asked to store videos. */
interface RequestedStorage {
  /** Address of the storage, if this command's worker stores. */
  address?: string | undefined;
  /** The requested key or prefix in it. */
  key?: string | undefined;
}

export function requestedStorage({ worker }: JobsSession, key: string | undefined): RequestedStorage {
  return { address: worker?.storage, key };
}

interface StartedJob<Result> extends FollowedJob {
  result(): Promise<Result>;
}

interface FollowOrder {
  /** `Job fox`, or `Batch foxes of 40`. */
  title: string;
  description: WorkflowExecutionDescription;
  /** The command that follows it. */
  command: string;
  options: { wait: boolean; json?: boolean };
  terminal: Terminal;
}

/** Waits for a job or a batch that was started or joined while its progress is shown. Returns its result, or an exit code. */
export async function followJob<Result extends object>(
  session: JobsSession,
  job: StartedJob<Result>,
  { title, description, command, options, terminal }: FollowOrder,
): Promise<Result | number> {
  const { workflowId } = job;
  const page = pageOf(session, workflowId);
  const shownAt = page === undefined ? '' : `, shown at ${page}`;
  printLine(terminal, `${title} on task queue ${shown(description.taskQueue)}${shownAt}`);
  if (!options.wait) {
    printUiCommand(session, terminal);
    printLine(terminal, `It continues wherever a worker runs. Follow it with: ${command}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  const progress = showProgress(job, terminal, session.describeMissingWorker);
  const result = await unlessInterrupted(session, job.result()).finally(() => {
    progress.stop();
    printUiCommand(session, terminal);
  });
  if (result !== undefined) return result;
  const what = title.startsWith('Batch') ? 'batch' : 'job';
  printLine(terminal, `Stopped watching. The ${what} is not cancelled. Pick it up again with: ${command}`);
  return EXIT.interrupted;
}

/** Undefined if Ctrl-C is pressed first. */
async function unlessInterrupted<T>(
  { signal, isInterrupted }: JobsSession,
  outcome: Promise<T>,
): Promise<T | undefined> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
  // The one that loses the race must not be unhandled.
  for (const promise of [outcome, aborted]) promise.catch(() => undefined);
  try {
    return await Promise.race([outcome, aborted]);
  } catch (error) {
    if (isInterrupted()) return undefined;
    throw error;
  }
}

/** The printed links stop working when the command's own server ends. */
function printUiCommand({ ownsUi }: JobsSession, terminal: Terminal): void {
  if (!ownsUi) return;
  const command = devCommand(terminal.env.VIDEOGEN_DATA);
  printLine(terminal, `This Temporal UI ends with the command; to open it again, run: ${command}`);
}

interface JoinedCommand {
  terminal: Terminal;
  requested?: RequestedStorage | undefined;
  /** The service that the command names. */
  service?: string | undefined;
}

/**
 * An existing job keeps the storage, key and service that it was started with. This reports if the command asks for
 * others, and starts a worker for the job's storage if this process can reach it.
 */
export async function reportJoined(
  description: WorkflowExecutionDescription,
  worker: JobsSession['worker'],
  { terminal, requested, service }: JoinedCommand,
): Promise<void> {
  const { workflowId, memo } = description;
  const say = (note: string) => printLine(terminal, `${shown(workflowId)} ${note}`);
  const original = readMemo(memo?.[STORAGE_MEMO]);
  const note = worker && (await noteOnQueue(description, worker, original.address, terminal.env));
  if (note !== undefined) say(note);
  const kept = memo?.[SERVICE_MEMO];
  if (service !== undefined && typeof kept === 'string' && !service.split(',').includes(kept))
    say(`was started for the service ${shown(kept)}; the --service of this command has no effect.`);
  if (requested?.key !== undefined && memo?.[STORAGE_MEMO] !== undefined && requested.key !== original.key) {
    const key = original.key === undefined ? 'without a storage key' : `with the storage key ${original.key}`;
    say(`was started ${key}; the --storage of this command has no effect.`);
  }
}

/** Undefined for a job on the queue of this command's worker. */
async function noteOnQueue(
  { taskQueue, status }: WorkflowExecutionDescription,
  worker: NonNullable<JobsSession['worker']>,
  address: string | undefined,
  env: Terminal['env'],
): Promise<string | undefined> {
  if (worker.taskQueue === taskQueue) return undefined;
  const hasEnded = status.name !== 'RUNNING';
  const queue = `task queue ${shown(taskQueue)}`;
  // Other programs start jobs on this queue, and `dev` runs them with its own service.
  if (taskQueue === readTaskQueue(env))
    return hasEnded
      ? undefined
      : `was started by another program: it continues while videogen dev or another worker serves ${queue}.`;
  if (!isLocalQueue(taskQueue, env))
    return hasEnded
      ? undefined
      : `is on ${queue}, which this command has no worker for: it continues while a worker of that queue runs.`;
  if (!taskQueue.startsWith(localQueuePrefix(env)))
    return 'was started for another service: set VIDEO_API_BASE_URL, VIDEO_API_KEY and VIDEOGEN_SERVICES_FILE as they were then; otherwise it may have no worker here.';
  const storage = address === undefined ? 'another storage' : `the storage ${address}`;
  const isServed = hasEnded || (address !== undefined && (await worker.startWorkerFor(address, taskQueue)));
  return isServed
    ? `was started with ${storage} and stores its video there; the current VIDEOGEN_STORAGE has no effect.`
    : `was started with ${storage}: set VIDEOGEN_STORAGE as it was then; otherwise it may have no worker here.`;
}

/** Other programs may write memos too, so nothing is assumed about their shape. */
function readMemo(memo: unknown): RequestedStorage {
  const text = (name: string) => {
    const value: unknown = Reflect.get(Object(memo), name);
    return typeof value === 'string' ? value : undefined;
  };
  return { address: text('address'), key: text('key') };
}
