import { text } from 'node:stream/consumers';
import type { StoredVideo } from '../src/contract/job';
import { asStorageFault, type VideoStorage } from '../src/storage';

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

/** Writes it unless something else is there already; answers what is to be said then. */
export async function writeSidecar(
  storage: VideoStorage,
  key: string,
  sidecar: Sidecar,
): Promise<string | undefined> {
  const place = `${key}.json`;
  return asStorageFault(async () => {
    const there = await storage.read(place);
    if (there && !isOfTask(await text(there), sidecar.taskId)) {
      return `${place} was there already and is left as it is`;
    }
    await storage.write(place, `${JSON.stringify(sidecar, undefined, 2)}\n`, 'application/json');
    return undefined;
  });
}

/** An earlier attempt at the same video may have written one. */
function isOfTask(content: string, taskId: string): boolean {
  try {
    return Object(JSON.parse(content)).taskId === taskId;
  } catch {
    return false;
  }
}
