import { cleanText, jsonIn } from '../../src/contract/clean-text';
import type { StoredVideo } from '../../src/contract/job';
import { inspectFile } from '../../src/media/inspector';
import { CONTAINERS } from '../../src/media/sniff-container';
import type { StoredEntry } from '../../src/storage/job-record';
import { isSameVideo } from '../../src/storage/same-video';
import { readSmallFile, writeSmallJson } from '../../src/storage/small-files';
import type { VideoStorage } from '../../src/storage/storage';
import { asStorageFault } from '../../src/storage/storage-fault';
import { logEvent } from '../log-event';
import { BadVideo } from '../to-failure';
import type { VideoDownload } from './video-download';

/** The stored video of this task, if the storage still has what is on record, byte for byte. */
export async function findStored(
  { key, video, warnings, ...stored }: StoredEntry,
  taskId: string,
  storage: VideoStorage,
): Promise<{ video: StoredVideo; warnings: string[] } | undefined> {
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
export async function inspectDownload({ part, of }: VideoDownload) {
  if (of !== undefined && part.bytes !== of) throw new BadVideo(`${part.bytes} of ${of} bytes arrived`);
  const { path, ...whole } = await part.content();
  const inspection = await inspectFile(path);
  if (inspection.kind === 'no-video') throw new BadVideo(inspection.reason);
  const { container, ...facts } = inspection.facts;
  const { contentType, extension } = CONTAINERS[container];
  const isComplete = of !== undefined || inspection.end === 'checked';
  const doubts = isComplete ? [] : [MAY_BE_CUT];
  return { path, extension, file: { ...whole, contentType }, facts, doubts };
}

/**
 * Writes `<key>.json` next to a video, which describes the file without its job, unless another file has that key. Returns a
 * warning if it cannot: the video is stored already.
 */
export async function writeSidecar(
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
