import { cleanText } from '../../src/contract/clean-text';
import type { StoredVideo } from '../../src/contract/job';
import type { VideoStorage } from '../../src/storage';
import { inTime, readSmallText } from '../job-record';

/** What stands in `<key>.json` beside a video, for whoever meets the file without its job. */
export interface Sidecar {
  workflowId: string;
  taskId: string;
  /** Without what signs its links: the file may be copied anywhere. */
  request?: Record<string, unknown>;
  seed?: number;
  video: StoredVideo;
  warnings: string[];
}

/** Writes it unless something else is there. The video is in place already, so a problem is a warning and no failure. */
export async function writeSidecar(
  storage: VideoStorage,
  key: string,
  sidecar: Sidecar,
): Promise<string | undefined> {
  const place = `${key}.json`;
  try {
    const there = await inTime(async () => {
      const stored = await storage.read(place);
      return stored && readSmallText(stored);
    });
    if (there !== undefined && !isOfTask(there, sidecar.taskId)) {
      return `${place} was there already and is left as it is`;
    }
    await inTime(() =>
      storage.write(place, `${JSON.stringify(sidecar, undefined, 2)}\n`, 'application/json'),
    );
    return undefined;
  } catch (error) {
    return `${place} could not be written: ${cleanText(error instanceof Error ? error.message : String(error))}`;
  }
}

/** An earlier attempt at the same video may have written one. */
function isOfTask(content: string, taskId: string): boolean {
  try {
    return Object(JSON.parse(content)).taskId === taskId;
  } catch {
    return false;
  }
}
