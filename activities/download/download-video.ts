import {
  ApplicationFailure,
  activityInfo,
  Context,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { cleanText, jsonIn } from '../../src/contract/clean-text';
import type { ExpectedVideo, StoredVideo } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import { DOWNLOAD_PACE, LARGEST_VIDEO_BYTES } from '../../src/contract/policies';
import { describeMismatches } from '../../src/media/compare-with-request';
import { inspectFile } from '../../src/media/inspector';
import { CONTAINERS } from '../../src/media/sniff-container';
import type { StoredEntry } from '../../src/storage/job-record';
import { PartFile } from '../../src/storage/part-file';
import { isSameVideo } from '../../src/storage/same-video';
import { readSmallFile, writeSmallJson } from '../../src/storage/small-files';
import type { VideoStorage } from '../../src/storage/storage';
import { asStorageFault, StorageFault } from '../../src/storage/storage-fault';
import { DEFAULT_KEY_TEMPLATE, storageKey } from '../../src/storage/storage-key';
import { jobName, logEvent, whileHeartbeating } from '../attempt';
import { openRecord, recordTask, warnNotRecorded } from '../record-task';
import { type FindTools, toolsFor } from '../service-tools';
import { BadVideo, toFailure } from '../to-failure';
import { type DownloadPace, readPartNote, VideoDownload } from './video-download';

/** Input of the activity downloadVideo. */
export interface DownloadVideoInput {
  taskId: string;
  /** The named service that has the task. */
  service?: string | undefined;
  /** The fields of the request that the video is compared with; an adopted task has none. */
  expected?: ExpectedVideo;
  /** The id of the job's record in the storage, which the submit returned. */
  record?: string;
  /** A key, or a prefix that ends with `/`; the worker's template names the file under a prefix. */
  storage?: string;
  /** The start of the job; that of this activity by default. */
  startedAtMs?: number;
  /** What is known about what the job costs. */
  cost?: JobCost;
  /** Whose job it is. */
  caller?: string | undefined;
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
  /** When a download is too slow. */
  pace?: DownloadPace;
}

/** Downloads a finished video into the storage: complete and inspected, or not at all. */
export function createDownloadVideo(deps: DownloadOptions & { find: FindTools; storage: VideoStorage }) {
  const { storage, keyTemplate = DEFAULT_KEY_TEMPLATE, pace = DOWNLOAD_PACE } = deps;
  const { largestVideoBytes: largestBytes = LARGEST_VIDEO_BYTES } = deps;
  return async function downloadVideo(input: DownloadVideoInput): Promise<DownloadedVideo> {
    const { attempt, namespace, scheduledTimestampMs } = activityInfo();
    const { taskId, expected = {}, cost, startedAtMs = scheduledTimestampMs } = input;
    const at = toolsFor(deps.find, input.service, 'download');
    const workflowId = jobName();
    const signal = cancellationSignal();
    const earlier = readPartNote();
    const part = new PartFile(storage, `${workflowId} ${taskId}`);
    const download = new VideoDownload(part, { at, taskId, pace, largestBytes, signal });
    const note = () => download.note ?? earlier ?? { bytes: part.bytes };
    const record = input.record === undefined ? undefined : openRecord(storage, input.record);

    const fetch = async (): Promise<DownloadedVideo> => {
      const recorded = await record?.read();
      // The disk may have been full when it was made; until it is written down, another job might adopt it.
      if (record && recorded && recorded.task?.taskId !== taskId) {
        const send = recorded.openSends.at(-1)?.id;
        await recordTask(storage, record, { taskId, service: input.service, cost, send }, input.caller);
      }
      const before = recorded?.stored && (await findStored(recorded.stored, taskId, storage));
      if (before) return before;
      if (attempt > 1) await download.takeOver(earlier);
      logEvent('downloading', { taskId, ...(part.bytes > 0 && { bytes: part.bytes }) });
      const told = await download.receive();
      const { path, extension, file, facts, doubts } = await inspectDownload(download);
      const key = storageKey(input.storage, keyTemplate, { workflowId, taskId, startedAtMs, extension });
      const { uri } = await asStorageFault(() => storage.publishFile(path, key, { ...file, signal }));
      await part.remove();
      const video = { uri, ...file, ...facts };
      const ofService = new Set([...(recorded?.task?.warnings ?? []), ...told]);
      const warnings = [...ofService, ...describeMismatches(expected, video), ...doubts];
      const { request } = recorded?.lastSend ?? {};
      const stored = { video: { ...video }, warnings: [...warnings], cost };
      const sidecar = { namespace, workflowId, taskId, request, seed: expected.seed, ...stored };
      const [problem] = await Promise.all([
        writeSidecar(storage, key, sidecar),
        record
          ?.add({ event: 'stored', taskId, key, ...stored })
          .catch((error: unknown) => warnNotRecorded(record, error, taskId)),
      ]);
      if (problem !== undefined) warnings.push(problem);
      logEvent('stored', { taskId, ...video, ...(warnings.length > 0 && { warnings }) });
      return { video, warnings };
    };

    /** Leaves the partial file for the next attempt, or deletes it. Returns what to throw. */
    const giveUp = async (error: unknown): Promise<unknown> => {
      if (signal.aborted) logEvent('downloadStopped', { taskId, bytes: part.bytes });
      const { failure, isResumed } = signal.aborted ? endedByTemporal() : endedBy(error, taskId);
      if (isResumed) heartbeat(await download.leave());
      else await part.remove();
      return failure;
    };

    // A first attempt has nothing to say yet, and most downloads are over before their first heartbeat.
    if (earlier) heartbeat(note());
    const fetchOrLeave = () =>
      fetch().catch(async (error: unknown) => {
        // The janitor deletes what cannot be deleted now; the first error is the one to report.
        throw await giveUp(error).catch(() => toFailure(error, 'download', { taskId }));
      });
    return whileHeartbeating(fetchOrLeave, note);
  };
}

/** How a failed attempt ends. The janitor removes what it leaves after the last one. */
function endedBy(error: unknown, taskId: string): { failure: unknown; isResumed: boolean } {
  const failure = toFailure(error, 'download', { taskId });
  // A storage that failed may be full, and a partial file would use space.
  const mayLeave = !(error instanceof BadVideo || error instanceof StorageFault);
  const isRetried = failure instanceof ApplicationFailure && !failure.nonRetryable;
  return { failure, isResumed: mayLeave && isRetried };
}

/** How a stopped attempt ends. Another one follows, unless the job itself is cancelled or gone. */
function endedByTemporal(): { failure: unknown; isResumed: boolean } {
  const { workerShutdown, paused, timedOut, reset } = Context.current().cancellationDetails ?? {};
  const isResumed = Boolean(workerShutdown || paused || timedOut || reset);
  if (!workerShutdown) return { failure: cancellationSignal().reason, isResumed };
  // Of a cancelled attempt the SDK may drop the last heartbeat, if it takes time to encode. Of a failed one it never does.
  const failure = ApplicationFailure.create({
    type: 'WorkerShutdown',
    message: 'the worker is shutting down',
    category: ApplicationFailureCategory.BENIGN,
  });
  return { failure, isResumed };
}

/** The stored video of this task, if the storage still has what is on record, byte for byte. */
async function findStored(
  { key, video, warnings, ...stored }: StoredEntry,
  taskId: string,
  storage: VideoStorage,
): Promise<DownloadedVideo | undefined> {
  if (stored.taskId !== taskId) return undefined;
  const isThere = await asStorageFault(async () => {
    const content = await storage.read(key);
    return content !== undefined && isSameVideo({ content }, video);
  });
  if (!isThere) {
    logEvent('storedVideoGone', { taskId, key });
    return undefined;
  }
  return { video, warnings };
}

/** A file without a stated length that was cut between two of its parts looks complete. */
const MAY_BE_CUT =
  'the server sent no length and the container does not say where the video ends, so completeness could not be checked';

/** Inspects the file of a download that has arrived. The doubts say what could not be checked. */
async function inspectDownload({ part, of }: VideoDownload) {
  if (of !== undefined && part.bytes !== of) throw new BadVideo(`${part.bytes} of ${of} bytes arrived`);
  const { path } = part;
  const { bytes, sha256 } = part.content;
  const inspection = await inspectFile(path);
  if (inspection.kind === 'no-video') throw new BadVideo(inspection.reason);
  const { container, ...facts } = inspection.facts;
  const { contentType, extension } = CONTAINERS[container];
  const isComplete = of !== undefined || inspection.end === 'checked';
  const doubts = isComplete ? [] : [MAY_BE_CUT];
  return { path, extension, file: { bytes, sha256, contentType }, facts, doubts };
}

/**
 * Writes `<key>.json` next to a video, which describes the file without its job, unless another file has that key. Returns a
 * warning if it cannot: the video is stored already.
 */
async function writeSidecar(
  storage: VideoStorage,
  key: string,
  sidecar: { taskId: string },
): Promise<string | undefined> {
  const sidecarKey = `${key}.json`;
  try {
    const existing = await readSmallFile(storage, sidecarKey);
    // An earlier attempt for the same video may have written it.
    if (existing !== undefined && Object(jsonIn(existing)).taskId !== sidecar.taskId)
      return `${sidecarKey} exists already and was not overwritten`;
    await writeSmallJson(storage, sidecarKey, sidecar);
    return undefined;
  } catch (error) {
    return `${sidecarKey} could not be written: ${cleanText(error instanceof Error ? error.message : String(error))}`;
  }
}
