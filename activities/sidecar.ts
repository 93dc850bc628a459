import type { StoredVideo } from '../src/contract/job';
import type { VideoRequest } from '../src/contract/request';
import type { VideoStorage } from '../src/storage';

/** What stands in `<key>.json` beside a video, for whoever meets the file without its job. */
export interface Sidecar {
  workflowId: string;
  taskId: string;
  request?: VideoRequest;
  seed?: number;
  video: StoredVideo;
  warnings: string[];
}

export async function writeSidecar(storage: VideoStorage, key: string, sidecar: Sidecar): Promise<void> {
  await storage.write(`${key}.json`, `${JSON.stringify(sidecar, undefined, 2)}\n`, 'application/json');
}
