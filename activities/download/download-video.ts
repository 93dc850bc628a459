import { activityInfo, Context, cancellationSignal, heartbeat, log } from '@temporalio/activity';
import type { StoredVideo } from '../../src/contract/job';
import { DOWNLOAD_PACE, LARGEST_VIDEO_BYTES } from '../../src/contract/policies';
import { describeMismatches, type ExpectedVideo } from '../../src/contract/video-facts';
import type { RateLimiter, VideoService } from '../../src/service';
import { StorageFault, type VideoStorage } from '../../src/storage';
import { isRetried, jobId, type NamedJob, whileHeartbeating } from '../attempt';
import { JobRecordFile } from '../job-record';
import { toFailure } from '../to-failure';
import { BadVideo } from './bad-video';
import { findStored } from './find-stored';
import { receiveVideo } from './receive-video';
import { whileReportingProgress } from './report-progress';
import { writeSidecar } from './sidecar';
import { DEFAULT_KEY_TEMPLATE, storageKey } from './storage-key';
import { readPartNote, VideoDownload } from './video-download';
import type { DownloadPace } from './watch-pace';

export interface DownloadVideoInput extends NamedJob {
  taskId: string;
  /** What was asked for, to be compared with what came; an adopted task has none. */
  expected?: ExpectedVideo;
  /** Which record of the job the storage keeps, as its submit named it. */
  record?: string;
  /** A key, or a prefix when it ends with `/`; the worker's template names the file unless a key is given. */
  storage?: string;
  keepBad?: boolean;
  /** The start of the job; of this activity unless set. */
  startedAtMs?: number;
}

export interface DownloadedVideo {
  video: StoredVideo;
  warnings: string[];
}

export interface DownloadOptions {
  /** Where a job without a key of its own puts its video; `{workflowId}.{ext}` unless set. */
  keyTemplate?: string;
  /** 2 GiB unless set. */
  largestVideoBytes?: number;
  /** Whether `<key>.json` is written beside each video; it is, unless this is false. */
  sidecar?: boolean;
  pace?: DownloadPace;
}

export interface DownloadVideoDeps extends DownloadOptions {
  service: VideoService;
  storage: VideoStorage;
  rateLimiter: RateLimiter;
}

/** Brings a finished video into the storage: all of it, looked at, or nothing. */
export function createDownloadVideo(deps: DownloadVideoDeps) {
  const { service, storage, rateLimiter, pace = DOWNLOAD_PACE } = deps;
  return async function downloadVideo(input: DownloadVideoInput): Promise<DownloadedVideo> {
    const { taskId, expected = {} } = input;
    const signal = cancellationSignal();
    const begunAtMs = Date.now();
    const earlier = readPartNote();
    const reception = receptionOf(input, deps);
    const note = () => reception.note ?? earlier ?? { bytes: reception.bytes };

    const record =
      input.record === undefined
        ? undefined
        : JobRecordFile.named(storage, { job: jobId(input), id: input.record });

    const receive = async (): Promise<DownloadedVideo> => {
      const stored = record && (await findStored(record, input, storage));
      if (stored) return stored;
      if (earlier) await reception.resumeFrom(earlier);
      await receiveVideo(reception, { service, rateLimiter, taskId, pace, signal });
      const { key, video, doubts } = await reception.publish();
      const warnings = [...describeMismatches(expected, video), ...doubts];
      if (deps.sidecar !== false) {
        const { requestOnRecord: request } = record ?? {};
        const sidecar = { workflowId: jobId(input), taskId, request, seed: expected.seed, video, warnings };
        const problem = await writeSidecar(storage, key, sidecar);
        if (problem !== undefined) warnings.push(problem);
      }
      await record?.writeStored({ taskId, key, video, warnings, storage: input.storage });
      log.info('downloaded', { taskId, ...video, ...(warnings.length > 0 && { warnings }) });
      return { video, warnings };
    };

    /** What becomes of the part that has come: a later attempt goes on with it, somebody looks at it, or it goes. */
    const giveUp = async (error: unknown): Promise<unknown> => {
      if (signal.aborted) {
        log.info('download left', { taskId, bytes: reception.bytes });
        const { workerShutdown, paused } = Context.current().cancellationDetails ?? {};
        if (workerShutdown || paused) heartbeat(await reception.leave());
        else await reception.discard();
        return signal.reason;
      }
      if (error instanceof BadVideo) {
        const kept = input.keepBad ? `; it is kept at ${await reception.setAside()}` : '';
        await reception.discard();
        return toFailure(new BadVideo(error.message + kept), 'download', { taskId });
      }
      const failure = toFailure(error, 'download', { taskId });
      // A storage that failed may have no room, and what is left would take some.
      const isOurs = error instanceof StorageFault;
      if (!isOurs && isRetried(failure, Date.now() - begunAtMs)) heartbeat(await reception.leave());
      else await reception.discard();
      return failure;
    };

    return whileHeartbeating(note, () =>
      whileReportingProgress(
        () => ({ bytes: reception.bytes, of: reception.of, job: input.job }),
        () =>
          receive().catch(async (error: unknown) => {
            // What cannot be cleared away now is the janitor's, and no second fault.
            throw await giveUp(error).catch(() => toFailure(error, 'download', { taskId }));
          }),
      ),
    );
  };
}

function receptionOf({ taskId, storage: place, ...input }: DownloadVideoInput, deps: DownloadVideoDeps) {
  const { storage, keyTemplate = DEFAULT_KEY_TEMPLATE, largestVideoBytes = LARGEST_VIDEO_BYTES } = deps;
  const { attempt, scheduledTimestampMs } = activityInfo();
  const workflowId = jobId(input);
  const { startedAtMs = scheduledTimestampMs } = input;
  return new VideoDownload({
    storage,
    owner: taskId,
    isRetry: attempt > 1,
    signal: cancellationSignal(),
    largestBytes: largestVideoBytes,
    keyFor: (extension) => storageKey(place, keyTemplate, { workflowId, taskId, startedAtMs, extension }),
  });
}
