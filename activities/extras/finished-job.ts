import { activityInfo, Context } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { shown } from '../../src/contract/clean-text';
import { describeExpired, hasExpired } from '../../src/contract/expiry';
import { extraNamesIn, type StoredExtra } from '../../src/contract/extras';
import { WORKFLOW_TYPE } from '../../src/contract/names';
import { canRemove, recordsOf } from '../../src/retention';
import type { VideoStorage } from '../../src/storage';
import type { VideoToRead } from './local-video';

/** What a job has left that another one can continue from. */
export interface FinishedJob {
  video: VideoToRead & { expiresAt?: string | undefined };
  lastFrame?: StoredExtra | undefined;
}

/** Why nothing can be continued from a job; the message is a whole sentence without its full stop. */
export class NothingToContinue extends Error {
  override readonly name = 'NothingToContinue';
}

/** The gRPC status code. */
const NOT_FOUND = 5;

/**
 * The video of a job that has succeeded. Temporal knows the job until its retention ends; after that, and for items of batches,
 * the records in the storage do.
 */
export async function findFinishedJob(storage: VideoStorage, job: string): Promise<FinishedJob> {
  const found = (await inTemporal(job)) ?? (await onRecord(storage, job));
  if (found === undefined) throw new NothingToContinue(`there is no job ${shown(job)} to continue from`);
  if (hasExpired(found.video))
    throw new NothingToContinue(describeExpired(job, found.video).replace(/\.$/, ''));
  return found;
}

async function inTemporal(job: string): Promise<FinishedJob | undefined> {
  const handle = Context.current().client.workflow.getHandle(job);
  const description = await unlessUnknown(() => handle.describe());
  if (description === undefined) return undefined;
  if (description.type !== WORKFLOW_TYPE)
    throw new NothingToContinue(`${shown(job)} is not a video job, so nothing can be continued from it`);
  switch (description.status.name) {
    case 'COMPLETED':
      return readResult(await handle.result());
    case 'RUNNING':
      throw new NothingToContinue(
        `${shown(job)} has not finished: wait for its video, then continue from it`,
      );
    default:
      throw new NothingToContinue(
        `${shown(job)} has no video to continue from: it ended as ${description.status.name}`,
      );
  }
}

/** Any program may have run a workflow of this type. */
function readResult(result: unknown): FinishedJob | undefined {
  const { video, extras }: { video?: unknown; extras?: unknown } = Object(result);
  const { uri, bytes, sha256, contentType, expiresAt }: Partial<FinishedJob['video']> = Object(video);
  if (typeof uri !== 'string' || typeof bytes !== 'number') return undefined;
  if (typeof sha256 !== 'string' || typeof contentType !== 'string') return undefined;
  return { video: { uri, bytes, sha256, contentType, expiresAt }, lastFrame: lastFrameIn(extras) };
}

function lastFrameIn(extras: unknown): StoredExtra | undefined {
  return extraNamesIn(extras).includes('last-frame') ? Object(extras)['last-frame'] : undefined;
}

async function onRecord(storage: VideoStorage, job: string): Promise<FinishedJob | undefined> {
  if (!canRemove(storage)) return undefined;
  const { namespace } = activityInfo();
  const records = (await recordsOf(storage, { namespace, job })).map(({ content }) => content);
  const [first, second] = records.flatMap((record) => (record.state === 'stored' ? [record] : []));
  if (second !== undefined) {
    throw new NothingToContinue(
      `${shown(job)} is the name of several jobs with a video, and Temporal no longer knows which was the last`,
    );
  }
  if (first !== undefined) return { video: first.video, lastFrame: first.extras?.['last-frame'] };
  if (records.length === 0) return undefined;
  if (records.some(({ state }) => state === 'submitted' || state === 'sending'))
    throw new NothingToContinue(`${shown(job)} has not finished: wait for its video, then continue from it`);
  throw new NothingToContinue(`${shown(job)} has no video in the storage of the worker`);
}

async function unlessUnknown<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const isUnknown = isGrpcServiceError(error) && error.code === NOT_FOUND;
    if (isUnknown || error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
