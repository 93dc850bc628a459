import { activityInfo } from '@temporalio/activity';
import { type DurationText, durationMs } from '../../src/contract/duration';
import { extraNamesIn } from '../../src/contract/extras';
import { FOREVER } from '../../src/contract/input-rules';
import {
  canRemove,
  expiryOf,
  keepForGood,
  keepUntil,
  type StoredRecord,
  shareVideo,
} from '../../src/retention';
import { StorageFault, type VideoStorage } from '../../src/storage';
import type { ReceivedVideo, VideoDownload } from './video-download';

export interface KeptJob {
  job: string;
  /** The id of its record. */
  record: string | undefined;
  keepFor: DurationText | undefined;
  /** Whether the worker writes sidecars, which name the job that stored a video. */
  hasSidecars: boolean;
}

/** Until when the video of a job stays in the storage. For a job without a date nothing is written or read. */
export class VideoKeeping {
  /** One sentence each, for the warnings of the result. */
  readonly doubts: string[] = [];
  private readonly keepForMs: number | undefined;

  constructor(
    private readonly storage: VideoStorage,
    private readonly kept: KeptJob,
  ) {
    this.keepForMs = durationMs(kept.keepFor);
  }

  /** Publishes a video, with its date on record before it is there. */
  async publish(download: Pick<VideoDownload, 'publish'>): Promise<ReceivedVideo> {
    const { storage, keepForMs } = this;
    if (!canRemove(storage)) {
      if (keepForMs !== undefined)
        this.doubts.push('keepFor has no effect, because the storage cannot list and remove files');
      return download.publish();
    }
    let expiresAt: string | undefined;
    const received = await download.publish(async (key) => {
      if (keepForMs === undefined) return;
      expiresAt = expiryOf(keepForMs, Date.now());
      await keepUntil(storage, { ...this.named, key, record: this.kept.record, expiresAt });
    });
    const { key, video } = received;
    if (received.wasThere) {
      const mayBeOwn = this.kept.hasSidecars && activityInfo().attempt > 1;
      if (!(await shareVideo(storage, { ...this.named, key, expiresAt, mayBeOwn })))
        throw new StorageFault(`${key} was there and was removed at this moment`);
    }
    return expiresAt === undefined ? received : { ...received, video: { ...video, expiresAt } };
  }

  /**
   * The video of a record with the date that it has from now on; undefined when it has expired. A date is only ever moved to a
   * later time, and a video without a date keeps none.
   */
  async renew({ key, video, extras: recorded }: StoredRecord): Promise<StoredRecord['video'] | undefined> {
    const { storage, keepForMs } = this;
    const { expiresAt: before, ...rest } = video;
    if (before === undefined || !canRemove(storage)) return video;
    if (this.kept.keepFor === FOREVER) {
      await keepForGood(storage, { ...this.named, key });
      return rest;
    }
    const nowMs = Date.now();
    const expiresAt = keepForMs === undefined ? before : expiryOf(keepForMs, nowMs);
    if (Date.parse(expiresAt) <= nowMs) return undefined;
    if (Date.parse(expiresAt) <= Date.parse(before)) return video;
    const extras = recorded && extraNamesIn(recorded);
    await keepUntil(storage, { ...this.named, key, record: this.kept.record, expiresAt, extras });
    return { ...rest, expiresAt };
  }

  private get named() {
    return { namespace: activityInfo().namespace, job: this.kept.job };
  }
}
