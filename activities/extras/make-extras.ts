import { createHash } from 'node:crypto';
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { cleanText } from '../../src/contract/clean-text';
import {
  type ExtraName,
  extraKey,
  extraNamesIn,
  type StoredExtra,
  type StoredExtras,
} from '../../src/contract/extras';
import type { StoredVideo } from '../../src/contract/job';
import { FfmpegFailed, type Frame, firstFrame, lastFrame } from '../../src/media';
import { canRemove, writeDue } from '../../src/retention';
import { asStorageFault, readUpTo, StorageFault, storeOnce, type VideoStorage } from '../../src/storage';
import { jobId, type NamedJob, whileHeartbeating } from '../attempt';
import { addToSidecar } from '../download/sidecar';
import { JobRecordFile } from '../job-record';
import { logEvent } from '../log-event';
import { toFailure } from '../to-failure';
import { VideoGone, withLocalVideo } from './local-video';

/** Input of the activity makeExtras. */
export interface MakeExtrasInput extends NamedJob {
  taskId: string;
  /** The stored video that they are pictures of. */
  video: StoredVideo;
  extras: ExtraName[];
  /** The id of the job's record in the storage; an adopted task has none. */
  record?: string;
}

/** Result of the activity makeExtras. */
export interface MadeExtras {
  extras: StoredExtras;
  /** Which could not be made and why, one sentence each. */
  warnings: string[];
}

export interface MakeExtrasDeps {
  storage: VideoStorage;
  /** The executable of ffmpeg; without it nothing can be decoded. */
  ffmpeg?: string | undefined;
  sidecar?: boolean | undefined;
}

const MAKERS: Record<ExtraName, typeof firstFrame> = { poster: firstFrame, 'last-frame': lastFrame };

const CONTENT_TYPE = 'image/png';

export const NO_FFMPEG =
  'the worker has no ffmpeg: install it, or name it with VIDEOGEN_FFMPEG, and restart the worker';

/**
 * Stores the pictures that a job asked for beside its video. What cannot be decoded is a warning, because the video is paid and
 * stored. Only a storage that fails is tried again. What an earlier attempt or job has stored is not made again.
 */
export function createMakeExtras(deps: MakeExtrasDeps) {
  const { storage, ffmpeg } = deps;
  return async function makeExtras(input: MakeExtrasInput): Promise<MadeExtras> {
    const { taskId, video, extras: wanted } = input;
    const named = { job: input.job, taskId };
    const key = storage.keyOf?.(video.uri);
    const warnings: string[] = [];
    const warn = (name: ExtraName, reason: string) => {
      warnings.push(`the ${name} was not made: ${reason}`);
      logEvent('extrasNotMade', { ...named, extra: name, reason });
    };
    if (key === undefined) {
      for (const name of wanted) warn(name, 'the storage does not say under which key the video is');
      return { extras: {}, warnings };
    }
    const record =
      input.record === undefined
        ? undefined
        : JobRecordFile.withId(storage, { job: jobId(input), id: input.record });

    const make = async (): Promise<MadeExtras> => {
      const found = await record?.read();
      const ofVideo = found?.state === 'stored' && found.key === key ? found : undefined;
      const extras = await intactOf(storage, key, ofVideo?.extras);
      const missing = wanted.filter((name) => extras[name] === undefined);
      for (const name of missing) {
        const made = await makeOne(name, key, video, deps);
        if (typeof made === 'string') warn(name, made);
        else extras[name] = made;
      }
      const stored = missing.filter((name) => extras[name] !== undefined);
      if (stored.length > 0) {
        if (deps.sidecar !== false) await addToSidecar(storage, key, { taskId, extras });
        if (record && ofVideo) await record.writeExtras(ofVideo, extras);
        await noteExpiry(extras);
        logEvent('extrasStored', { ...named, extras: stored });
      }
      return { extras: only(extras, wanted), warnings };
    };
    /** Whoever removes the video when it expires removes them with it. */
    const noteExpiry = async (extras: StoredExtras) => {
      const { expiresAt } = video;
      if (expiresAt === undefined || !canRemove(storage)) return;
      const { namespace } = activityInfo();
      const due = { namespace, job: jobId(input), key, expiresAt, record: input.record };
      await writeDue(storage, { ...due, extras: extraNamesIn(extras) });
    };
    try {
      return await whileHeartbeating(() => undefined, make);
    } catch (error) {
      const signal = cancellationSignal();
      throw signal.aborted ? signal.reason : toFailure(error, 'download', { taskId });
    }
  };

  /** The stored picture, or why there is none. */
  async function makeOne(
    name: ExtraName,
    key: string,
    video: StoredVideo,
    { storage }: MakeExtrasDeps,
  ): Promise<StoredExtra | string> {
    if (ffmpeg === undefined) return NO_FFMPEG;
    const signal = cancellationSignal();
    let frame: Frame;
    try {
      frame = await withLocalVideo(storage, video, signal, (local, cwd) =>
        MAKERS[name](local, { ffmpeg, cwd, signal }),
      );
    } catch (error) {
      if (error instanceof FfmpegFailed || error instanceof VideoGone) return cleanText(error.message);
      throw error;
    }
    return storeFrame(storage, extraKey(key, name), frame);
  }
}

async function storeFrame(
  storage: VideoStorage,
  key: string,
  { png, width, height }: Frame,
): Promise<StoredExtra | string> {
  try {
    const { uri } = await asStorageFault(() =>
      storeOnce(storage, key, { contentType: CONTENT_TYPE, bytes: png }),
    );
    const sha256 = createHash('sha256').update(png).digest('hex');
    return { uri, bytes: png.length, sha256, contentType: CONTENT_TYPE, width, height };
  } catch (error) {
    // Another file has the key: it stays.
    if (error instanceof StorageFault && error.isFinal) return cleanText(error.message);
    throw error;
  }
}

/** Those on record that the storage still has, byte for byte. */
async function intactOf(
  storage: VideoStorage,
  key: string,
  recorded: StoredExtras = {},
): Promise<StoredExtras> {
  const intact: StoredExtras = {};
  for (const [name, extra] of entriesOf(recorded)) {
    const bytes = await asStorageFault(() => readUpTo(storage, extraKey(key, name), extra.bytes));
    if (bytes && createHash('sha256').update(bytes).digest('hex') === extra.sha256) intact[name] = extra;
  }
  return intact;
}

const entriesOf = (extras: StoredExtras) => Object.entries(extras) as [ExtraName, StoredExtra][];

function only(extras: StoredExtras, wanted: readonly ExtraName[]): StoredExtras {
  return Object.fromEntries(entriesOf(extras).filter(([name]) => wanted.includes(name)));
}
