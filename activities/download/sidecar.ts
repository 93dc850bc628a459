import { cleanText } from '../../src/contract/clean-text';
import type { StoredExtras } from '../../src/contract/extras';
import type { StoredVideo } from '../../src/contract/job';
import type { JobCost } from '../../src/contract/job-cost';
import { readSmallFile, type VideoStorage, writeSmallJson } from '../../src/storage';

/** The content of `<key>.json` beside a video, which describes the file without its job. */
export interface Sidecar {
  workflowId: string;
  taskId: string;
  /** Links in it are redacted, because the file may be copied anywhere. */
  request?: Record<string, unknown>;
  seed?: number;
  video: StoredVideo;
  warnings: string[];
  cost?: JobCost;
  /** The pictures beside it. Whoever removes the video removes them with it. */
  extras?: StoredExtras;
}

/** Writes the sidecar unless another file has its key. Returns a warning if it cannot: the video is stored already. */
export async function writeSidecar(
  storage: VideoStorage,
  key: string,
  sidecar: Sidecar,
): Promise<string | undefined> {
  const sidecarKey = `${key}.json`;
  try {
    const existing = await readSmallFile(storage, sidecarKey);
    if (existing !== undefined && !isOfTask(existing, sidecar.taskId)) {
      return `${sidecarKey} exists already and was not overwritten`;
    }
    await writeSmallJson(storage, sidecarKey, sidecar);
    return undefined;
  } catch (error) {
    return `${sidecarKey} could not be written: ${cleanText(error instanceof Error ? error.message : String(error))}`;
  }
}

/** Names the extras of a video in its sidecar, so that they are found and removed with it. Leaves one of another job as it is. */
export async function addToSidecar(
  storage: VideoStorage,
  key: string,
  { taskId, extras }: Required<Pick<Sidecar, 'taskId' | 'extras'>>,
): Promise<void> {
  const sidecarKey = `${key}.json`;
  const existing = await readSmallFile(storage, sidecarKey);
  if (existing === undefined || !isOfTask(existing, taskId)) return;
  await writeSmallJson(storage, sidecarKey, { ...JSON.parse(existing), extras });
}

/** An earlier attempt for the same video may have written it. */
function isOfTask(content: string, taskId: string): boolean {
  try {
    return Object(JSON.parse(content)).taskId === taskId;
  } catch {
    return false;
  }
}
