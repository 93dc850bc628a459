import { createHash } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { shown } from '../../src/contract/clean-text';
import {
  LARGEST_IMAGE_BYTES,
  LAST_FRAME_OWNER,
  parseImageReference,
} from '../../src/contract/image-reference';
import { CONTINUE_FROM_RULE, isWorkflowId } from '../../src/contract/input-rules';
import { parseRequest, type VideoRequest } from '../../src/contract/request';
import { FfmpegFailed, lastFrame } from '../../src/media';
import { readRecord, recordId, recordKey } from '../../src/retention';
import {
  asStorageFault,
  BadImage,
  bytesUpTo,
  checkImage,
  hasImage,
  inTime,
  storeImage,
  type VideoStorage,
} from '../../src/storage';
import { jobId, type NamedJob, whileHeartbeating } from '../attempt';
import { jobDigest } from '../job-record';
import { logEvent } from '../log-event';
import { type FindTools, type ForService, findForNew } from '../service-tools';
import { createCallFailure, toFailure } from '../to-failure';
import { type FinishedJob, findFinishedJob, NothingToContinue } from './finished-job';
import { VideoGone, withLocalVideo } from './local-video';
import { NO_FFMPEG } from './make-extras';

/** Input of the activity takeLastFrame. */
export interface TakeLastFrameInput extends NamedJob, ForService {
  /** The name of the job that is continued from. */
  from: string;
  /** The request that is to be submitted. */
  request: VideoRequest;
  /** An operator decided to submit again after a lost submit. */
  resubmits?: boolean;
}

/** Result of the activity takeLastFrame. */
export interface TakenFrame {
  /**
   * The image in the storage, as `image_url` names it: `videogen-image:_frames/5f70….png`. Undefined when the job may have a task
   * already, and none can be taken: the submit then finds that task, or the lost submit.
   */
  image?: string;
}

export interface TakeLastFrameDeps {
  find: FindTools;
  storage: VideoStorage;
  ffmpeg?: string | undefined;
}

/**
 * Stores the last frame of a finished job as an image of its own, as if somebody had uploaded it. From there on the job needs
 * neither the other job nor its video. Nothing is paid for before: whatever is wrong ends the job with a reason.
 */
export function createTakeLastFrame(deps: TakeLastFrameDeps) {
  return async function takeLastFrame(input: TakeLastFrameInput): Promise<TakenFrame> {
    const { from } = input;
    let earlier: EarlierSubmit = { image: undefined, mayHavePaid: false };
    try {
      if (!isWorkflowId(from)) throw new NothingToContinue(`continueFrom ${CONTINUE_FROM_RULE}`);
      earlier = await readEarlierSubmit(input, deps);
      if (earlier.image !== undefined) return { image: earlier.image };
      return await whileHeartbeating(
        () => undefined,
        async () => {
          const png = await lastFrameOf(from, deps);
          const image = checkImage(png, LAST_FRAME_OWNER);
          await asStorageFault(() => storeImage(deps.storage, image));
          logEvent('lastFrameTaken', { job: input.job, from, image: image.url });
          return { image: image.url };
        },
      );
    } catch (error) {
      const signal = cancellationSignal();
      if (signal.aborted) throw signal.reason;
      const refusal = refusalOf(error, from);
      if (refusal !== undefined && earlier.mayHavePaid && !input.resubmits) return {};
      throw toFailure(refusal ?? error, 'submit');
    }
  };
}

interface EarlierSubmit {
  /** The frame that was sent then: the same idempotency key must not come with another one. */
  image: string | undefined;
  mayHavePaid: boolean;
}

/** What the record knows of an earlier job of this name and request. */
async function readEarlierSubmit(
  input: TakeLastFrameInput,
  { find, storage }: TakeLastFrameDeps,
): Promise<EarlierSubmit> {
  const tools = findForNew(find, input);
  const { requestFields } = ('problem' in tools ? undefined : tools.service.profile) ?? {};
  const parsed = parseRequest(input.request, requestFields);
  // The submit says what is wrong with it, or finds what was paid for before.
  if (!parsed.ok) return { image: undefined, mayHavePaid: true };
  const job = jobId(input);
  const found = await readRecord(storage, recordKey(job, recordId(jobDigest(job, parsed.request))));
  if (found === undefined) return { image: undefined, mayHavePaid: false };
  const url = found.request?.image_url;
  const reference = typeof url === 'string' ? parseImageReference(url) : undefined;
  const isThere = reference?.owner === LAST_FRAME_OWNER && (await inTime(() => hasImage(storage, reference)));
  const paidNothing = found.state === 'refused' && found.lostSubmit === undefined;
  return { image: isThere ? String(url) : undefined, mayHavePaid: !paidNothing };
}

async function lastFrameOf(from: string, { storage, ffmpeg }: TakeLastFrameDeps): Promise<Buffer> {
  const job = await findFinishedJob(storage, from);
  const stored = await storedFrame(storage, job);
  if (stored) return stored;
  if (ffmpeg === undefined) throw new NothingToContinue(NO_FFMPEG);
  const signal = cancellationSignal();
  const { png } = await withLocalVideo(storage, job.video, signal, (local, cwd) =>
    lastFrame(local, { ffmpeg, cwd, signal }),
  );
  return png;
}

/** The extra of the job itself, if the storage still has it. */
async function storedFrame(
  storage: VideoStorage,
  { lastFrame: extra }: FinishedJob,
): Promise<Buffer | undefined> {
  if (typeof extra?.uri !== 'string') return undefined;
  const stored = await asStorageFault(async () => storage.open?.(extra.uri));
  const bytes = stored && (await asStorageFault(() => bytesUpTo(stored, LARGEST_IMAGE_BYTES)));
  return bytes && createHash('sha256').update(bytes).digest('hex') === extra.sha256 ? bytes : undefined;
}

/** Nothing was sent, and a retry would find the same. */
function refusalOf(error: unknown, from: string): Error | undefined {
  const message = reasonOf(error, from);
  if (message === undefined) return undefined;
  return createCallFailure('InvalidRequest', 'submit', { message, advice: ADVICE });
}

const ADVICE =
  'Nothing was paid for. Continue from a job that has its video in the storage of this worker, and start a new job.';

function reasonOf(error: unknown, from: string): string | undefined {
  if (error instanceof NothingToContinue) return error.message;
  if (error instanceof VideoGone) return `nothing can be continued from ${shown(from)}: ${error.message}`;
  if (error instanceof FfmpegFailed) return `the last frame of ${shown(from)} was not made: ${error.message}`;
  if (error instanceof BadImage) return `the last frame of ${shown(from)} ${error.message}`;
  return undefined;
}
