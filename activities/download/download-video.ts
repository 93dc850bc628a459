import {
  ApplicationFailure,
  activityInfo,
  Context,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { DurationText } from '../../src/contract/duration';
import type { StoredVideo } from '../../src/contract/job';
import { type JobCost, mergeCosts } from '../../src/contract/job-cost';
import { DOWNLOAD_PACE, LARGEST_VIDEO_BYTES } from '../../src/contract/policies';
import type { EndedTask } from '../../src/contract/usual-times';
import { describeMismatches, type ExpectedVideo } from '../../src/contract/video-facts';
import { StorageFault, type VideoStorage } from '../../src/storage';
import { jobId, type NamedJob, whileHeartbeating, willRetryDownload } from '../attempt';
import { JobRecordFile } from '../job-record';
import { logEvent } from '../log-event';
import { measureSpeed } from '../measure';
import { type FindTools, type ForService, toolsFor } from '../service-tools';
import { toFailure } from '../to-failure';
import { BadVideo } from './bad-video';
import { findStored } from './find-stored';
import { VideoKeeping } from './keep-video';
import { receiveVideo } from './receive-video';
import { whileReportingProgress } from './report-progress';
import { writeSidecar } from './sidecar';
import { DEFAULT_KEY_TEMPLATE, storageKey } from './storage-key';
import { readPartNote, VideoDownload } from './video-download';
import type { DownloadPace } from './watch-pace';

/** Input of the activity downloadVideo. */
export interface DownloadVideoInput extends NamedJob, ForService {
  taskId: string;
  /** The fields of the request that the video is compared with; an adopted task has none. */
  expected?: ExpectedVideo;
  /** The id of the job's record in the storage, which the submit returned. */
  record?: string;
  /** A key, or a prefix that ends with `/`; the worker's template names the file under a prefix. */
  storage?: string;
  /** Stores a download that is not a complete video as `<key>.bad`. */
  keepBad?: boolean;
  /** How long the video stays in the storage; the worker's setting by default. */
  keepFor?: DurationText;
  /** The start of the job; that of this activity by default. */
  startedAtMs?: number;
  /** When the task ended, for the worker to learn from. It travels here because an activity of its own would add events. */
  ended?: EndedTask;
  /** What is known about what the job costs. */
  cost?: JobCost;
}

/** Result of the activity downloadVideo. */
export interface DownloadedVideo {
  video: StoredVideo;
  warnings: string[];
}

/** What a worker stores, under which keys, and how large it may be. */
export interface DownloadOptions {
  /** The key of videos whose job sets none; `{workflowId}.{ext}` by default. */
  keyTemplate?: string;
  /** 2 GiB by default. */
  largestVideoBytes?: number;
  /** Whether `<key>.json` is written beside each video; true by default. */
  sidecar?: boolean;
  /** How long videos stay in the storage whose job does not say it; for good by default. */
  keepFor?: DurationText;
  /** When a download is too slow. */
  pace?: DownloadPace;
}

export interface DownloadVideoDeps extends DownloadOptions {
  find: FindTools;
  storage: VideoStorage;
}

/** Downloads a finished video into the storage: complete and inspected, or not at all. */
export function createDownloadVideo(deps: DownloadVideoDeps) {
  const { storage, pace = DOWNLOAD_PACE } = deps;
  return async function downloadVideo(input: DownloadVideoInput): Promise<DownloadedVideo> {
    const { taskId, expected = {}, cost } = input;
    const at = toolsFor(deps.find, input, 'download');
    const named = { job: input.job, taskId };
    const signal = cancellationSignal();
    const startedAtMs = Date.now();
    const earlier = readPartNote();
    const download = createDownload(input, deps);
    const note = () => download.note ?? earlier ?? { bytes: download.bytes };
    const record =
      input.record === undefined
        ? undefined
        : JobRecordFile.withId(storage, { job: jobId(input), id: input.record });

    const keeping = new VideoKeeping(storage, {
      job: jobId(input),
      record: input.record,
      keepFor: input.keepFor ?? deps.keepFor,
      hasSidecars: deps.sidecar !== false,
    });

    const receive = async (): Promise<DownloadedVideo> => {
      const stored = record && (await findStored(record, input, { storage, keeping }));
      if (stored) return stored;
      if (earlier) await download.resumeFrom(earlier);
      const connectedAtMs = performance.now();
      const earlierBytes = download.bytes;
      logEvent('downloading', { ...named, ...(download.bytes > 0 && { bytes: download.bytes }) });
      const told = await receiveVideo(download, { at, taskId, pace, signal });
      measureSpeed(download.bytes - earlierBytes, performance.now() - connectedAtMs);
      const { key, video, doubts } = await keeping.publish(download);
      const ofService = new Set([...(record?.facts.submitWarnings ?? []), ...told]);
      const warnings = [...ofService, ...describeMismatches(expected, video), ...doubts, ...keeping.doubts];
      if (deps.sidecar !== false) {
        const { requestOnRecord: request } = record ?? {};
        const about = { workflowId: jobId(input), taskId, request, seed: expected.seed };
        const sidecar = { ...about, video, warnings, ...(cost && { cost }) };
        const problem = await writeSidecar(storage, key, sidecar);
        if (problem !== undefined) warnings.push(problem);
      }
      if (record) record.facts = { ...record.facts, cost: mergeCosts(record.facts.cost, cost) };
      await record?.writeStored({ taskId, key, video, warnings, storage: input.storage });
      logEvent('stored', { ...named, ...video, ...(warnings.length > 0 && { warnings }) });
      return { video, warnings };
    };

    /** Leaves the partial file for the next attempt, sets a bad one aside, or deletes it. Returns what to throw. */
    const giveUp = async (error: unknown): Promise<unknown> => {
      if (signal.aborted) {
        logEvent('downloadStopped', { ...named, bytes: download.bytes });
        const { workerShutdown, paused } = Context.current().cancellationDetails ?? {};
        if (workerShutdown || paused) heartbeat(await download.leave());
        else await download.discard();
        return workerShutdown ? endedByShutdown() : signal.reason;
      }
      if (error instanceof BadVideo) {
        const stored = input.keepBad ? `; the bad file is stored at ${await download.setAside()}` : '';
        await download.discard();
        return toFailure(new BadVideo(error.message + stored), 'download', { taskId });
      }
      const failure = toFailure(error, 'download', { taskId });
      // A storage that failed may be full, and a partial file would use space.
      const mayLeave = !(error instanceof StorageFault);
      if (mayLeave && willRetryDownload(failure, Date.now() - startedAtMs)) heartbeat(await download.leave());
      else await download.discard();
      return failure;
    };

    // A first attempt has nothing to say yet, and most downloads are over before their first heartbeat.
    if (earlier) heartbeat(note());
    // Beside the download, which takes longer; and once, however many attempts that needs.
    const learning = input.ended && activityInfo().attempt === 1 && at.learnedTimes.learn(input.ended);
    const downloaded = await whileHeartbeating(note, () =>
      whileReportingProgress(
        () => ({ bytes: download.bytes, of: download.of, job: input.job }),
        () =>
          receive().catch(async (error: unknown) => {
            // The janitor deletes what cannot be deleted now; the first error is the one to report.
            throw await giveUp(error).catch(() => toFailure(error, 'download', { taskId }));
          }),
      ),
    );
    await learning;
    return downloaded;
  };
}

function createDownload({ taskId, storage: jobKey, ...input }: DownloadVideoInput, deps: DownloadVideoDeps) {
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
    keyFor: (extension) => storageKey(jobKey, keyTemplate, { workflowId, taskId, startedAtMs, extension }),
  });
}

/** Of a cancelled attempt the SDK may drop the last heartbeat, if it takes time to encode. Of a failed one it never does. */
function endedByShutdown(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'WorkerShutdown',
    message: 'the worker is shutting down',
    category: ApplicationFailureCategory.BENIGN,
  });
}
